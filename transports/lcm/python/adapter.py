"""The adapter for LCM in Python: a channel for each link. ../README.md describes the wire format."""

from __future__ import annotations

import math

from lcm import LCM

from hopmeter.node.base import BaseTransport, package_version
from hopmeter.node.buffers import BytesBuffer
from hopmeter.node.contract import LOOPBACK, AdapterError, Fill, Link, Setup, Take

from .network import REMEDY, facts, group


def open_lcm(url: str) -> LCM:
    try:
        return LCM(url)
    except RuntimeError as cause:
        raise AdapterError(f"LCM cannot open {url}", REMEDY) from cause


class Publisher:
    def __init__(self, lcm: LCM, channel: str, address: str) -> None:
        self.address = address
        self._lcm, self._channel, self._outgoing = lcm, channel, BytesBuffer()

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.forward(self._outgoing.fill(payload_bytes, fill))

    def forward(self, native: bytes) -> bool:
        try:
            self._lcm.publish(self._channel, native)
        except OSError as cause:
            raise AdapterError(f"publishing on LCM's channel {self._channel}", REMEDY) from cause
        return True

    def close(self) -> None:
        del self._lcm


class Subscriber:
    def __init__(self, lcm: LCM, link: Link, setup: Setup) -> None:
        self._lcm = lcm
        self._spins = link.wait == "spin"
        self._take: Take | None = None
        self._count = 0
        # `get_fileno` makes LCM open its receiving socket and send itself a message. `subscribe`, which is called
        # later, would not report a failure.
        if lcm.fileno() < 0:
            raise AdapterError(f"LCM receives nothing at {link.address}", REMEDY)
        self._subscription = lcm.subscribe(link.name, self._receive)
        self._subscription.set_queue_capacity(setup.settings["queue"])

    def _receive(self, _channel: str, frame: bytes) -> None:
        if self._take is not None:
            self._take(frame, native=frame)
            self._count += 1

    def poll(self, timeout_s: float, take: Take) -> int:
        self._take, self._count = take, 0
        self._lcm.handle_timeout(0 if self._spins else math.ceil(timeout_s * 1000))
        self._take = None
        return self._count

    def close(self) -> None:
        self._lcm.unsubscribe(self._subscription)
        del self._lcm


class Transport(BaseTransport):
    version = package_version("lcm", "lcm")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._in_memory = setup.settings["provider"] == "memq"
        self._queues: dict[str, LCM] = {}

    def publisher(self, link: Link) -> Publisher:
        if self._in_memory:
            return Publisher(self._new_queue(link), link.name, "memq://")
        group_address, port = group(link.name if self.settings["group"] == "link" else self.setup.run)
        ttl = 0 if self.setup.advertised == LOOPBACK else 1  # with 0, messages do not leave the machine
        url = f"udpm://{group_address}:{port}?ttl={ttl}"
        return Publisher(open_lcm(url), link.name, url)

    def subscriber(self, link: Link) -> Subscriber:
        if self._in_memory:
            return Subscriber(self._joined_queue(link), link, self.setup)
        url = f"{link.address}&recv_buf_size={self.settings['recv_buf_size']}"
        return Subscriber(open_lcm(url), link, self.setup)

    def _new_queue(self, link: Link) -> LCM:
        """Return an LCM instance with an in-memory queue, which both ends of a link share."""
        if link.receivers > 1:
            raise AdapterError("LCM's memq supports only one receiver for each link", "use --set provider=udpm")
        self._queues[link.name] = open_lcm("memq://")
        return self._queues[link.name]

    def _joined_queue(self, link: Link) -> LCM:
        try:
            return self._queues.pop(link.name)
        except KeyError as cause:
            raise AdapterError("LCM's memq connects only ends of one process", "use --placement thread") from cause

    def facts(self) -> dict[str, str]:
        return {"path": "memory of the process"} if self._in_memory else facts(self.setup)

    def close(self) -> None:
        self._queues.clear()
