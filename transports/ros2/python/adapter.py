"""The adapter for ROS 2 with rclpy: topics and services. ../README.md describes the fields."""

from __future__ import annotations

import importlib.metadata
import os
import threading
from collections.abc import Callable
from typing import Any

from hopmeter.node.contract import Fill, Handle, Link, Setup, Take

from .rmw import demand_rmw, rmw_version
from .sourced import demand_ros2, middleware, segments

demand_ros2()
demand_rmw()

import rclpy.utilities  # noqa: E402

from .messages import AnyCarrier, Calls, calls_of, own_messages, topic_carrier  # noqa: E402
from .process_context import Called, NoReplyError, Polled, ProcessContext, domain_of, name_of  # noqa: E402


class Publisher:
    def __init__(self, context: ProcessContext, link: Link, carrier: AnyCarrier) -> None:
        self.address = ""
        self._carrier, self._node = carrier, context.node()
        self._publisher = self._node.create_publisher(carrier.message, name_of(link), context.qos)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.forward(self._carrier.write(payload_bytes, fill))

    def forward(self, native: Any) -> bool:
        self._publisher.publish(native)
        return True

    def close(self) -> None:
        self._node.destroy_node()


class Subscriber:
    """A polled subscription, whose callback runs on the polling thread."""

    def __init__(self, context: ProcessContext, link: Link, carrier: AnyCarrier) -> None:
        self._carrier, node = carrier, context.node()
        self._take: Take
        self._taken = 0
        node.create_subscription(carrier.message, name_of(link), self._receive, context.qos, raw=carrier.raw)
        self._polled = Polled(context, link, node)

    def poll(self, timeout_s: float, take: Take) -> int:
        self._take, self._taken = take, 0
        self._polled.look(timeout_s)
        return self._taken

    def _receive(self, message: Any) -> None:
        self._taken += 1
        self._take(*self._carrier.read(message), native=message)

    def close(self) -> None:
        self._polled.close()


def open_subscription(context: ProcessContext, link: Link, carrier: AnyCarrier, on_frame: Take) -> Called:
    """Open a subscription that calls `on_frame` for each message."""

    def open_end(end: Called) -> Callable[[], Any]:
        def receive(message: Any) -> None:
            end.call_if_open(lambda: on_frame(*carrier.read(message), native=message))

        made = end.node.create_subscription(
            carrier.message, name_of(link), receive, context.qos, callback_group=end.group, raw=carrier.raw
        )
        return lambda: end.node.destroy_subscription(made)

    end = Called(context, open_end)
    end.start()
    return end


class Answer:
    """The response to a service request; None if the request stays unanswered."""

    def __init__(self, calls: Calls, request: Any, response: Any) -> None:
        self._calls, self._request, self._response = calls, request, response
        self._given = False

    def ask(self, handle: Handle) -> None:
        handle(*self._calls.read_request(self._request), self._reply)

    def _reply(self, payload_bytes: int, fill: Fill) -> bool:
        self._response, self._given = self._calls.write_reply(self._response, payload_bytes, fill), True
        return True

    def response(self) -> Any:
        if not self._given:
            raise NoReplyError
        return self._response


class Server:
    """The server of a service. If the link's wait is `callback`, an executor calls the server after `serve`; otherwise
    the server is polled."""

    def __init__(self, context: ProcessContext, link: Link, calls: Calls) -> None:
        self.address = ""
        self._context, self._link, self._calls = context, link, calls
        self._handle: Handle
        self._handled, self._serves = 0, False
        is_called = link.wait == "callback"
        self._end: Called | Polled = Called(context, self._open_called) if is_called else self._open_polled()

    def _open_polled(self) -> Polled:
        def answer_request(request: Any, response: Any) -> Any:
            answer = Answer(self._calls, request, response)
            self._handled += 1
            answer.ask(self._handle)
            return answer.response()

        node = self._context.node()
        node.create_service(self._calls.service, name_of(self._link), answer_request)
        return Polled(self._context, self._link, node)

    def _open_called(self, end: Called) -> Callable[[], Any]:
        def answer_request(request: Any, response: Any) -> Any:
            answer = Answer(self._calls, request, response)
            end.call_if_open(lambda: answer.ask(self._handle))
            return answer.response()

        service, name = self._calls.service, name_of(self._link)
        made = end.node.create_service(service, name, answer_request, callback_group=end.group)
        return lambda: end.node.destroy_service(made)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        assert isinstance(self._end, Polled)
        self._handle, self._handled = handle, 0
        self._end.look(timeout_s)
        return self._handled

    def serve(self, on_request: Handle) -> Called:
        assert isinstance(self._end, Called)
        self._end.is_nested = self._context.note_server()
        self._handle, self._serves = on_request, True
        self._end.start()
        return self._end

    def close(self) -> None:
        """Do nothing, because the subscription that `serve` returned closes itself."""
        if not self._serves:
            self._end.close()


class Client:
    """The client of a service. The polling thread passes each response to the future of its call."""

    def __init__(self, context: ProcessContext, link: Link, calls: Calls) -> None:
        self._context, self._thread = context, threading.get_ident()
        context.note_client(self._thread, 1)
        self._calls, node = calls, context.node()
        self._replies: list[Any] = []
        self._client = node.create_client(calls.service, name_of(link))
        self._polled = Polled(context, link, node)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        request = self._calls.write_request(payload_bytes, fill)
        self._client.call_async(request).add_done_callback(lambda future: self._replies.append(future.result()))
        return True

    def poll(self, timeout_s: float, take: Take) -> int:
        self._polled.look(timeout_s)
        replies, self._replies = self._replies, []
        for reply in replies:
            take(*self._calls.read_reply(reply))
        return len(replies)

    def close(self) -> None:
        self._context.note_client(self._thread, -1)
        self._polled.close()


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._starting = threading.Lock()
        self._context: ProcessContext | None = None
        self._messages: set[str] = set()
        """The message types of all link ends, for the facts."""

    @staticmethod
    def version() -> str:
        own_messages()  # raises an error if hopmeter's messages are missing, because this adapter is then not built
        used = [os.environ.get("ROS_DISTRO", ""), rmw_version(rclpy.utilities.get_rmw_implementation_identifier())]
        return f"rclpy {importlib.metadata.version('rclpy')} ({', '.join(filter(None, used))})"

    def _opened_context(self) -> ProcessContext:
        """Return the context. The first link end opens the context, so that the context's threads inherit the
        endpoint's core."""
        with self._starting:
            if self._context is None:
                self._context = ProcessContext(self._setup)
            return self._context

    def _topic(self, link: Link) -> AnyCarrier:
        return self._note(topic_carrier(self._setup.settings, link))

    def _call(self, link: Link) -> Calls:
        return self._note(calls_of(link))

    def _note(self, carrier: Any) -> Any:
        self._messages.add(carrier.title)
        return carrier

    def publisher(self, link: Link) -> Publisher:
        return Publisher(self._opened_context(), link, self._topic(link))

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(self._opened_context(), link, self._topic(link))

    def subscribe(self, link: Link, on_frame: Take) -> Called:
        return open_subscription(self._opened_context(), link, self._topic(link), on_frame)

    def server(self, link: Link) -> Server:
        return Server(self._opened_context(), link, self._call(link))

    def client(self, link: Link) -> Client:
        return Client(self._opened_context(), link, self._call(link))

    def facts(self) -> dict[str, str]:
        rmw = rmw_version(rclpy.utilities.get_rmw_implementation_identifier())
        facts = {"path": rmw, "rmw": rmw, "domain": str(domain_of(self._setup.run))}
        facts["message"] = ", ".join(sorted(self._messages))
        if self._context is not None:
            facts |= self._context.executor_facts()
        found = {"distribution": os.environ.get("ROS_DISTRO", ""), "middleware": middleware(), "segment": segments()}
        return facts | {name: text for name, text in found.items() if text}

    def close(self) -> None:
        if self._context is not None:
            self._context.close()
