"""The adapter for Wrapyfi in Python, whose MiddlewareCommunicator publishes and receives objects; see ../README.md."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import zmq
from wrapyfi.middlewares.zeromq import ZeroMQMiddlewarePubSubListen, ZeroMQMiddlewarePubSubPublish

from hopmeter.node.base import BaseTransport, package_version
from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Objects, Setup, Take, network_device

from .communicator import Communicator, WaitedListener

PLUGINS = {
    "PIL": "pillow_image",
    "dask": "dask_data",
    "jaxlib": "jax_tensor",
    "mxnet": "mxnet_tensor",
    "pandas": "pandas_data",
    "tensorflow": "tensorflow_tensor",
    "torch": "pytorch_tensor",
}
"""Wrapyfi's encoder for each kind of object, by the object's package. Each encoder registers itself when this adapter
imports it, because this Wrapyfi release searches for encoders in a folder that does not exist."""

# Wrapyfi enables all log messages, and each link end warns that it should use TCP, although it uses TCP.
logging.getLogger().setLevel(logging.ERROR)


class Publisher:
    address = ""

    def __init__(self, communicator: Communicator, objects: Objects | None) -> None:
        self._communicator, self._objects = communicator, objects
        self._header, self._payload = bytearray(HEADER_BYTES), np.empty(0, np.uint8)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self._payload.nbytes != payload_bytes:
            self._payload = np.empty(payload_bytes, np.uint8)
        fill(self._header, self._payload)
        obj = self._payload if self._objects is None else self._objects.leaving
        return self.forward([self._header.hex(), obj])

    def forward(self, native: list[Any]) -> bool:
        self._communicator.exchange(native)
        return True

    def close(self) -> None:
        self._communicator.close()


class Subscriber:
    def __init__(
        self, communicator: Communicator, listener: WaitedListener, link: Link, objects: Objects | None
    ) -> None:
        self._communicator, self._listener, self._objects = communicator, listener, objects
        # Stands for the payload if the frame contains an object; nobody reads this memory.
        self._room = np.empty(link.frame_bytes - HEADER_BYTES if objects else 0, np.uint8)

    def poll(self, timeout_s: float, take: Take) -> int:
        if not self._listener.wait(timeout_s):
            return 0
        message = self._communicator.exchange()
        header, obj = message
        if self._objects is not None:
            self._objects.arrive(obj)
            obj = self._room
        take(bytes.fromhex(header), obj, native=message)
        return 1

    def close(self) -> None:
        self._communicator.close()


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.path = f"TCP on {network_device(setup)}, through Wrapyfi's proxy broker"
        self._objects: Mapping[str, Objects] = {}
        place, self._publishers_port = setup.broker.split()
        host, _, self._listeners_port = place.rpartition(":")
        # Wrapyfi need neither start a broker nor verify connections, because the launcher starts the broker and probes
        # verify the connections.
        self._given: dict[str, Any] = {
            "socket_ip": host,
            "socket_pub_port": int(self._listeners_port),
            "start_pubsub_monitor_broker": False,
        }
        hwm = setup.settings["hwm"]
        for middleware in (ZeroMQMiddlewarePubSubPublish, ZeroMQMiddlewarePubSubListen):
            # Creates this process's middleware instance. The first link end would otherwise create the instance, and
            # sleep a second for a broker that the link end does not start.
            middleware(zeromq_post_kwargs={"LINGER": 0, "SNDHWM": hwm, "RCVHWM": hwm})

    @staticmethod
    def version() -> str:
        return f"{package_version('wrapyfi', 'wrapyfi')()}, libzmq {zmq.zmq_version()}, pyzmq {zmq.pyzmq_version()}"

    def carry(self, objects: Mapping[str, Objects]) -> None:
        self._objects = objects
        roots = {type(each.leaving).__module__.partition(".")[0] for each in objects.values()}
        for root in roots & PLUGINS.keys():
            importlib.import_module(f"wrapyfi.plugins.{PLUGINS[root]}")

    def publisher(self, link: Link) -> Publisher:
        port = int(self._publishers_port)
        given = {**self._given, "socket_sub_port": port, "start_proxy_broker": False}
        return Publisher(Communicator("publish", topic(link), **given), self._objects.get(link.name))

    def subscriber(self, link: Link) -> Subscriber:
        opened: list[WaitedListener] = []
        communicator = Communicator("listen", topic(link), opened=opened.append, **self._given)
        communicator.exchange()  # opens the link end; any message that is already there is a probe
        return Subscriber(communicator, opened[0], link, self._objects.get(link.name))

    def facts(self) -> dict[str, str]:
        return super().facts() | ({"encoding": "Wrapyfi's, within the hop"} if self._objects else {})

    def close(self) -> None:
        ZeroMQMiddlewarePubSubPublish.deinit()


def topic(link: Link) -> str:
    """Return the topic of a link. A ZeroMQ subscription matches all topics with the given prefix. A slash at the end of
    each topic prevents one topic from being the prefix of another."""
    return f"/{link.name}/"
