"""ROS 2 by rclpy: topics and services. ../README.md says which message takes what of a frame."""

from __future__ import annotations

import importlib.metadata
import os
import threading
from typing import Any

import rclpy.utilities
from house import Executing, House, NoReplyError, Polled, domain_of, name_of
from messages import Carrier

from hopmeter.node.contract import Fill, Handle, Link, Setup, Take


class Publisher:
    def __init__(self, house: House, link: Link, carrier: Carrier) -> None:
        self.address = ""
        self._carrier, self._node = carrier, house.node()
        self._publisher = self._node.create_publisher(carrier.message, name_of(link), house.qos)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.forward(self._carrier.written(payload_bytes, fill))

    def forward(self, native: Any) -> bool:
        self._publisher.publish(native)
        return True

    def close(self) -> None:
        self._node.destroy_node()


class Subscriber:
    """Polled: its callback is called by the thread that polls."""

    def __init__(self, house: House, link: Link, carrier: Carrier) -> None:
        self._carrier, node = carrier, house.node()
        self._take: Take
        self._taken = 0
        node.create_subscription(carrier.message, name_of(link), self._arrived, house.qos)
        self._polled = Polled(house, node)

    def poll(self, timeout_s: float, take: Take) -> int:
        self._take, self._taken = take, 0
        self._polled.look(timeout_s)
        return self._taken

    def _arrived(self, message: Any) -> None:
        self._taken += 1
        self._take(*self._carrier.read(message), native=message)

    def close(self) -> None:
        self._polled.close()


class Called:
    def __init__(self, house: House, link: Link, carrier: Carrier, on_frame: Take) -> None:
        node = house.node()
        node.create_subscription(
            carrier.message,
            name_of(link),
            lambda message: on_frame(*carrier.read(message), native=message),
            house.qos,
        )
        self._executing = Executing(house, node)

    def close(self) -> None:
        self._executing.close()


class Server:
    """Polled until it serves: a node belongs to one executor."""

    def __init__(self, house: House, link: Link, carrier: Carrier) -> None:
        self.address = ""
        self._house, self._carrier, self._node = house, carrier, house.node()
        self._handle: Handle
        self._handled = 0
        self._node.create_service(carrier.service, name_of(link), self._answer)
        self._polled: Polled | None = None
        self._serves = False

    def poll(self, timeout_s: float, handle: Handle) -> int:
        if self._polled is None:
            self._polled = Polled(self._house, self._node)
        self._handle, self._handled = handle, 0
        self._polled.look(timeout_s)
        return self._handled

    def serve(self, on_request: Handle) -> Executing:
        self._handle, self._serves = on_request, True
        return Executing(self._house, self._node)

    def _answer(self, request: Any, response: Any) -> Any:
        given = False

        def reply(payload_bytes: int, fill: Fill) -> bool:
            nonlocal given
            response.it, given = self._carrier.written(payload_bytes, fill), True
            return True

        self._handled += 1
        self._handle(*self._carrier.read(request.it), reply)
        if not given:
            raise NoReplyError
        return response

    def close(self) -> None:
        """What serves closes itself."""
        if self._polled is not None:
            self._polled.close()
        elif not self._serves:
            self._node.destroy_node()


class Client:
    """Its responses are handed to futures by the thread that polls."""

    def __init__(self, house: House, link: Link, carrier: Carrier) -> None:
        self._carrier, node = carrier, house.node()
        self._replies: list[Any] = []
        self._client = node.create_client(carrier.service, name_of(link))
        self._polled = Polled(house, node)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        request = self._carrier.service.Request(it=self._carrier.written(payload_bytes, fill))
        self._client.call_async(request).add_done_callback(lambda future: self._replies.append(future.result()))
        return True

    def poll(self, timeout_s: float, take: Take) -> int:
        self._polled.look(timeout_s)
        replies, self._replies = self._replies, []
        for reply in replies:
            take(*self._carrier.read(reply.it))
        return len(replies)

    def close(self) -> None:
        self._polled.close()


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._setup, self._carrier = setup, Carrier(setup)
        self._starting = threading.Lock()
        self._house: House | None = None

    @staticmethod
    def version() -> str:
        return f"rclpy {importlib.metadata.version('rclpy')}"

    def _opened(self) -> House:
        """The context is opened by the first end, so that its threads get the core of a participant."""
        with self._starting:
            if self._house is None:
                self._house = House(self._setup)
            return self._house

    def publisher(self, link: Link) -> Publisher:
        return Publisher(self._opened(), link, self._carrier)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(self._opened(), link, self._carrier)

    def subscribe(self, link: Link, on_frame: Take) -> Called:
        return Called(self._opened(), link, self._carrier, on_frame)

    def server(self, link: Link) -> Server:
        return Server(self._opened(), link, self._carrier)

    def client(self, link: Link) -> Client:
        return Client(self._opened(), link, self._carrier)

    def facts(self) -> dict[str, str]:
        rmw = rclpy.utilities.get_rmw_implementation_identifier()
        facts = {"path": rmw, "rmw": rmw, "domain": str(domain_of(self._setup.run))}
        if os.environ.get("ROS_DISTRO"):
            facts["distribution"] = os.environ["ROS_DISTRO"]
        return facts

    def close(self) -> None:
        if self._house is not None:
            self._house.close()
