"""ROS 1 by rospy: topics and services. ../README.md says which message takes what of a frame.

rospy calls its handlers on threads of its own and has nothing that could be polled; `block` is a hand-over from those.
"""

from __future__ import annotations

import importlib.metadata
import os
import queue
import threading
from typing import Any

from hopmeter.node import handover
from hopmeter.node.contract import AdapterError, Fill, Handle, Link, Setup, Take

from .messages import Carrier, rospy


def name_of(link: Link) -> str:
    """Names of ROS begin with a letter, those of links may not."""
    return f"/hopmeter_{link.name}"


def unregister(topic: Any) -> None:
    """Ends a publisher or subscriber. rospy closes their connections, but leaves the epoll that watches these to the
    garbage collector, in a cycle."""
    shared = topic.impl
    topic.unregister()
    if shared.closed:
        shared.connection_poll.poller.close()


class Publisher:
    """rospy serialises on the caller's thread, and sends by one thread for each connection."""

    def __init__(self, setup: Setup, link: Link, carrier: Carrier) -> None:
        self.address = ""
        self._carrier = carrier
        self._publisher = rospy.Publisher(name_of(link), carrier.message, queue_size=setup.settings["queue"])

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        self._publisher.publish(self._carrier.written(payload_bytes, fill))
        return True

    def close(self) -> None:
        unregister(self._publisher)


class Gate:
    """Lets one call through at a time, and none once it was closed."""

    def __init__(self) -> None:
        self._turn, self._closed = threading.Lock(), False

    def through(self, call: Any) -> None:
        with self._turn:
            if not self._closed:
                call()

    def close(self) -> None:
        with self._turn:
            self._closed = True


class Called:
    """Called by the thread that reads the connection."""

    def __init__(self, setup: Setup, link: Link, carrier: Carrier, on_frame: Take) -> None:
        self._gate = Gate()
        given = setup.settings
        self._subscriber = rospy.Subscriber(
            name_of(link),
            carrier.message,
            lambda message: self._gate.through(lambda: on_frame(*carrier.read(message))),
            queue_size=given["queue"] or None,
            buff_size=given["buffer"],
            tcp_nodelay=given["nodelay"],
        )

    def close(self) -> None:
        self._gate.close()
        unregister(self._subscriber)


class Server:
    """Called by one thread for each connection, one of them at a time."""

    def __init__(self, setup: Setup, link: Link, carrier: Carrier) -> None:
        self.address = ""
        self._buffer, self._name, self._carrier = setup.settings["buffer"], name_of(link), carrier

    def poll(self, timeout_s: float, handle: Handle) -> int:
        raise AdapterError("rospy's services call, they are not polled", 'use wait = "callback"')

    def serve(self, on_request: Handle) -> Serving:
        return Serving(self._name, self._carrier, self._buffer, on_request)

    def close(self) -> None:
        """What serves closes itself."""


class Serving:
    def __init__(self, name: str, carrier: Carrier, buffer: int, on_request: Handle) -> None:
        self._gate, self._carrier, self._on_request = Gate(), carrier, on_request
        self._service = rospy.Service(name, carrier.service, self._answer, buff_size=buffer)

    def _answer(self, request: Any) -> Any:
        """The response; without one, the call fails at its client."""
        answers: list[Any] = []

        def reply(payload_bytes: int, fill: Fill) -> bool:
            answers.append(self._carrier.written(payload_bytes, fill))
            return True

        self._gate.through(lambda: self._on_request(*self._carrier.read(request), reply))
        return answers[0] if answers else None

    def close(self) -> None:
        self._gate.close()
        self._service.shutdown()


class Client:
    """Calls only block, so a thread makes them, one at a time."""

    def __init__(self, setup: Setup, link: Link, carrier: Carrier) -> None:
        self._carrier, self._persists = carrier, setup.settings["persistent"]
        self._proxy = rospy.ServiceProxy(name_of(link), carrier.service, self._persists)
        self._proxy.persistent = (
            True  # its connection can then be closed while it waits; who ends it otherwise is _call
        )
        self._idle = threading.Event()
        self._idle.set()
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        if not self._idle.is_set():
            return False
        request = self._carrier.written(payload_bytes, fill)
        self._idle.clear()
        self._requests.put(request)
        return True

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            reply = self._replies.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        take(*self._carrier.read(reply))
        return 1

    def _run(self) -> None:
        while (request := self._requests.get()) is not None:
            reply = self._call(request)
            self._idle.set()
            if reply is not None:
                self._replies.put(reply)

    def _call(self, request: Any) -> Any:
        """The response; None where there is none, for the server has gone, refuses or was never there."""
        try:
            reply = self._proxy.call(request)
        except (rospy.ServiceException, rospy.exceptions.TransportException, OSError, AttributeError):
            self._disconnect()  # AttributeError: rospy's own, where its connection is closed while it waits
            return None
        if not self._persists:
            self._disconnect()
        return reply

    def _disconnect(self) -> None:
        self._proxy.close()
        self._proxy.transport = None

    def close(self) -> None:
        self._requests.put(None)
        while self._thread.is_alive():  # a call may just be connecting, and then has nothing to close yet
            self._proxy.close()
            self._thread.join(0.02)


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._setup, self._carrier = setup, Carrier(setup)
        self._starting, self._started = threading.Lock(), False

    @staticmethod
    def version() -> str:
        return f"rospy {importlib.metadata.version('rospy')}"

    def _start(self) -> None:
        """The node is started by the first end, so that its threads get the core of a participant."""
        with self._starting:
            if not self._started:
                name = f"hopmeter_{os.getpid()}"
                rospy.init_node(name, argv=[], disable_signals=True, disable_rosout=True, disable_rostime=True)
            self._started = True

    def publisher(self, link: Link) -> Publisher:
        self._start()
        return Publisher(self._setup, link, self._carrier)

    def subscribe(self, link: Link, on_frame: Take) -> Called:
        self._start()
        return Called(self._setup, link, self._carrier, on_frame)

    def subscriber(self, link: Link) -> handover.Subscriber:
        return handover.Subscriber(lambda on_frame: self.subscribe(link, on_frame))

    def server(self, link: Link) -> Server | handover.Server:
        self._start()
        server = Server(self._setup, link, self._carrier)
        return handover.Server(server) if self._setup.wait == "block" else server

    def client(self, link: Link) -> Client:
        self._start()
        return Client(self._setup, link, self._carrier)

    def facts(self) -> dict[str, str]:
        return {"path": handover.way("TCPROS on the loopback device", self._setup)}

    def close(self) -> None:
        if self._started:
            rospy.signal_shutdown("all is done")
