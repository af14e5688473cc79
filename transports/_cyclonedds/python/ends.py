"""The link ends over Cyclone DDS: a writer, polled readers and callback readers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from cyclonedds.core import DDSException, Listener
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader

from hopmeter.node.base import package_version
from hopmeter.node.buffers import PartsBuffer
from hopmeter.node.contract import Fill, Link, Setup, Take

from .cyclone import Message, Participant, delete


def write_sample(writer: DataWriter[Any], sample: Any) -> bool:
    """Write a sample. Return False if the call cannot write the sample without waiting."""
    try:
        writer.write(sample)
    except DDSException as error:
        if error.code != DDSException.DDS_RETCODE_TIMEOUT:
            raise
        return False
    return True


class Publisher:
    address = ""

    def __init__(self, participant: Participant, message: Message, link: Link) -> None:
        self._message, self._parts = message, PartsBuffer()
        self._topic = participant.topic(message, link)
        self._writer = participant.writer(self._topic, participant.writer_qos(link))

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.forward(self._message.write(*self._parts.fill(payload_bytes, fill)))

    def forward(self, native: Any) -> bool:
        return write_sample(self._writer, native)

    def close(self) -> None:
        delete(self._writer, self._topic)


class Inbox:
    """Takes the samples of a reader."""

    def __init__(self, participant: Participant, message: Message, reader: DataReader[Any]) -> None:
        self._participant, self._message, self._reader = participant, message, reader
        self._writer = 0

    def hand(self, take: Take) -> bool:
        """Pass the next sample to `take`. Return whether there was a sample to pass."""
        sample = self.next()
        if sample is not None:
            take(*self._message.read(sample), native=sample)
        return sample is not None

    def next(self) -> Any:
        """Return the next sample, or None if no sample is available."""
        sample = next(self._valid_samples(), None)
        if sample is not None and sample.sample_info.publication_handle != self._writer:
            self._writer = sample.sample_info.publication_handle
            self._participant.note(self._reader, self._writer)
        return sample

    def _valid_samples(self) -> Iterator[Any]:
        """Yield the samples that contain data. The skipped samples only report that a writer has disconnected."""
        while samples := self._reader.take(1):
            yield from (sample for sample in samples if sample.sample_info.valid_data)


class Arrivals:
    """Waits for samples of a polled reader."""

    def __init__(self, participant: Participant, link: Link, reader: DataReader[Any]) -> None:
        self._waitset = participant.waitset(reader)
        self._spins = link.wait == "spin"

    def next(self, timeout_s: float, look: Callable[[], bool]) -> int:
        """Return the result of `look`. If `look` finds no sample and this link end blocks, wait for an arrival and call
        `look` again."""
        if look():
            return 1
        if self._spins:
            return 0
        self._waitset.wait(round(timeout_s * 1e9))
        return int(look())

    def close(self) -> None:
        delete(self._waitset)


class Subscriber:
    def __init__(self, participant: Participant, message: Message, link: Link) -> None:
        self._topic = participant.topic(message, link)
        self._reader = participant.reader(self._topic, participant.reader_qos())
        self._inbox = Inbox(participant, message, self._reader)
        self._arrivals = Arrivals(participant, link, self._reader)

    def poll(self, timeout_s: float, take: Take) -> int:
        return self._arrivals.next(timeout_s, lambda: self._inbox.hand(take))

    def close(self) -> None:
        self._arrivals.close()
        delete(self._reader, self._topic)


class Called(Listener):
    """Calls the receiver on the receiving thread; if the writer is in the same process, on the writing thread."""

    def __init__(self, reader: DataReader[Any], look: Callable[[], bool]) -> None:
        self._reader, self._look = reader, look
        self._entered = threading.Lock()
        super().__init__()  # type: ignore[no-untyped-call]
        reader.set_listener(self)
        self.on_data_available(reader)  # takes samples that arrived before the listener was set

    def on_data_available(self, reader: DataReader[Any]) -> None:
        with self._entered:
            while self._look():
                pass

    def close(self) -> None:
        """Close the reader after a running call has returned."""
        self._reader.set_listener(None)
        delete(self._reader)


class Subscription:
    def __init__(self, participant: Participant, message: Message, link: Link, on_frame: Take) -> None:
        self._topic = participant.topic(message, link)
        reader = participant.reader(self._topic, participant.reader_qos())
        inbox = Inbox(participant, message, reader)
        self._called = Called(reader, lambda: inbox.hand(on_frame))

    def close(self) -> None:
        self._called.close()
        delete(self._topic)


class Carrier:
    """The base class of the Cyclone DDS adapters. A derived class provides the function that returns a link's message
    type."""

    def __init__(self, setup: Setup, message_of: Callable[[Link], Message], *, tagged: bool) -> None:
        self._participant, self._message_of = Participant(setup, tagged=tagged), message_of
        self.facts = self._participant.facts
        self.close = self._participant.close

    version = package_version("cyclonedds", "cyclonedds")

    def publisher(self, link: Link) -> Publisher:
        return Publisher(self._participant, self._message_of(link), link)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(self._participant, self._message_of(link), link)

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(self._participant, self._message_of(link), link, on_frame)
