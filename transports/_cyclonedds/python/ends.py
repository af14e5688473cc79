"""The ends of links over Cyclone DDS: a writer, and readers that are polled or called."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from cyclone import House, Message, delete, version
from cyclonedds.core import DDSException, Listener
from cyclonedds.sub import DataReader

from hopmeter.node.contract import Fill, Link, Setup, Take


class Publisher:
    address = ""

    def __init__(self, house: House, message: Message, link: Link) -> None:
        self._message = message
        self._topic = house.topic(message, link)
        self._writer = house.writer(self._topic, link)
        self._header = bytearray(64)
        self._payload = bytearray()

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if len(self._payload) != payload_bytes:
            self._payload = bytearray(payload_bytes)
        fill(self._header, self._payload)
        return self.forward(self._message.written(self._header, self._payload))

    def forward(self, native: Any) -> bool:
        try:
            self._writer.write(native)
        except DDSException as told:
            if told.code != DDSException.DDS_RETCODE_TIMEOUT:
                raise
            return False
        return True

    def close(self) -> None:
        delete(self._writer, self._topic)


class Inbox:
    """Takes the samples of a reader and hands them over."""

    def __init__(self, house: House, message: Message, reader: DataReader[Any]) -> None:
        self._house, self._message, self._reader = house, message, reader
        self._writer = 0

    def hand(self, take: Take) -> bool:
        """Hands over the next sample, if there is one."""
        sample = next(self._valid(), None)
        if sample is None:
            return False
        take(*self._message.read(sample), native=sample)
        if sample.sample_info.publication_handle != self._writer:
            self._writer = sample.sample_info.publication_handle
            self._house.note(self._reader, self._writer)
        return True

    def _valid(self) -> Iterator[Any]:
        """Some samples only tell that a writer has left."""
        while samples := self._reader.take(1):
            yield from (sample for sample in samples if sample.sample_info.valid_data)


class Subscriber:
    def __init__(self, house: House, message: Message, link: Link) -> None:
        self._topic = house.topic(message, link)
        self._reader = house.reader(self._topic)
        self._inbox = Inbox(house, message, self._reader)
        self._arrivals = house.arrivals(self._reader)
        self._spins = house.setup.wait == "spin"

    def poll(self, timeout_s: float, take: Take) -> int:
        if self._inbox.hand(take):
            return 1
        if self._spins:
            return 0
        self._arrivals.wait(round(timeout_s * 1e9))
        return int(self._inbox.hand(take))

    def close(self) -> None:
        delete(self._arrivals, self._reader, self._topic)


class Subscription(Listener):
    """Entered by the thread that receives, or within the process by the one that writes."""

    def __init__(self, house: House, message: Message, link: Link, on_frame: Take) -> None:
        self._on_frame = on_frame
        self._topic = house.topic(message, link)
        self._reader = house.reader(self._topic)
        self._inbox = Inbox(house, message, self._reader)
        self._entered = threading.Lock()
        super().__init__()  # type: ignore[no-untyped-call]
        self._reader.set_listener(self)
        self.on_data_available(self._reader)  # what has come before

    def on_data_available(self, reader: DataReader[Any]) -> None:
        with self._entered:
            while self._inbox.hand(self._on_frame):
                pass

    def close(self) -> None:
        """Waits until no call is under way."""
        self._reader.set_listener(None)
        delete(self._reader, self._topic)


class Carrier:
    """The adapter for one message type; a transport derives from it and says which."""

    def __init__(self, setup: Setup, message: Message, *, tagged: bool) -> None:
        self._house, self._message = House(setup, tagged=tagged), message
        self.facts = self._house.facts
        self.close = self._house.close

    version = staticmethod(version)

    def publisher(self, link: Link) -> Publisher:
        return Publisher(self._house, self._message, link)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(self._house, self._message, link)

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(self._house, self._message, link, on_frame)
