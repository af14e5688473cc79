"""The adapter for ROS 1 with rospy: topics and services. ../README.md describes the fields.

rospy calls handlers on its own threads and has no polling interface. With the wait `block`, rospy's threads pass
messages to the polling thread.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from hopmeter.node.base import package_version
from hopmeter.node.calls import BlockingCalls, CalledServer, Parts
from hopmeter.node.contract import Closable, Fill, Handle, Link, Setup, Take, network_device
from hopmeter.node.handover import CallbackTransport, opens

from .messages import Carrier, rospy

LOST = (rospy.ServiceException, rospy.exceptions.TransportException, OSError, AttributeError)
"""The errors of a call without a reply. rospy raises AttributeError if a connection is closed during the wait."""


def name_of(link: Link) -> str:
    """Return the ROS name of a link, which must begin with a letter; a link's name may begin with another character."""
    return f"/hopmeter_{link.name}"


def unregister(topic: Any) -> None:
    """Close a publisher or subscriber. rospy closes the connections, but leaves each connection's epoll object to the
    garbage collector."""
    shared = topic.impl
    topic.unregister()
    if shared.closed:
        shared.connection_poll.poller.close()


class Publisher:
    """A publisher. rospy serialises on the caller's thread, and sends on a separate thread for each connection."""

    address = ""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._carrier = transport.carrier(link)
        depth = transport.settings["queue"]
        self._publisher = rospy.Publisher(name_of(link), self._carrier.message, queue_size=depth)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        self._publisher.publish(self._carrier.write(payload_bytes, fill))
        return True

    def close(self) -> None:
        unregister(self._publisher)


class Subscription:
    """A subscription whose callback runs on the connection's reading thread. The calls never overlap, and no call
    starts after the subscription is closed."""

    def __init__(self, settings: dict[str, Any], link: Link, carrier: Carrier, on_frame: Take) -> None:
        self._read, self._on_frame = carrier.read, on_frame
        self._turn, self._closed = threading.Lock(), False
        self._subscriber = rospy.Subscriber(
            name_of(link),
            carrier.message,
            self._receive,
            queue_size=settings["queue"] or None,
            buff_size=settings["buffer"],
            tcp_nodelay=settings["nodelay"],
        )

    def _receive(self, message: Any) -> None:
        with self._turn:
            if not self._closed:
                self._on_frame(*self._read(message))

    def close(self) -> None:
        with self._turn:
            self._closed = True
        unregister(self._subscriber)


class Server(CalledServer):
    """The server of an rpc link. Each connection has a thread that calls the handler. A call that gets no reply fails
    at the client that made the call."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._carrier = transport.carrier(link)
        super().__init__(self._carrier.write)
        self._name, self._buffer = name_of(link), transport.settings["buffer"]
        self._service: Any = None

    def serve(self, on_request: Handle) -> Closable:
        super().serve(on_request)
        self._service = rospy.Service(self._name, self._carrier.service, self._answer, buff_size=self._buffer)
        return self

    def _answer(self, request: Any) -> Any:
        return self.answer(*self._carrier.read(request))

    def close(self) -> None:
        super().close()
        if self._service is not None:
            self._service.shutdown()
            self._service = None


class Client:
    """A client that makes calls on a separate thread, because rospy's calls always block."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._carrier, self._persists = transport.carrier(link), transport.settings["persistent"]
        self._proxy = rospy.ServiceProxy(name_of(link), self._carrier.service, self._persists)
        self._proxy.persistent = True  # so that `_call` can close the connection during the wait
        self._calls = BlockingCalls(self._carrier.write, self._call)
        self.start, self.poll = self._calls.start, self._calls.poll

    def _call(self, request: Any) -> Parts | None:
        """Return the frame of the reply, or None if the server is missing, has disconnected or refuses the call."""
        try:
            reply = self._proxy.call(request)
        except LOST:
            self._disconnect()
            return None
        if not self._persists:
            self._disconnect()
        return self._carrier.read(reply)

    def _disconnect(self) -> None:
        self._proxy.close()
        self._proxy.transport = None

    def close(self) -> None:
        self._calls.stop(self._proxy.close)


class Transport(CallbackTransport):
    version = package_version("rospy", "rospy")
    publisher = opens(Publisher)
    called_server = opens(Server)
    client = opens(Client)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.path = f"TCPROS on {network_device(setup)}"
        self._starting, self._started = threading.Lock(), False

    def carrier(self, link: Link) -> Carrier:
        """Return the carrier of a link. The first link end also starts the ROS node, so that the node's threads inherit
        the core."""
        with self._starting:
            if not self._started:
                name = f"hopmeter_{os.getpid()}"
                rospy.init_node(name, argv=[], disable_signals=True, disable_rosout=True, disable_rostime=True)
            self._started = True
        return Carrier(link)

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(self.settings, link, self.carrier(link), on_frame)

    def close(self) -> None:
        if self._started:
            rospy.signal_shutdown("all is done")
