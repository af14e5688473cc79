"""Shared Python code of the transports over Cyclone DDS: a node's domain, participant and link ends.

A transport provides its message types as objects of the class `Message` below. ../cpp contains the same code for C++.
"""

from __future__ import annotations

import socket
import threading
from typing import Any, Protocol

from cyclonedds.core import DDSStatus, WaitSet
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from hopmeter.node.contract import LOOPBACK, AdapterError, Link, Setup, network_device

DOMAINS = 99
"""Domain numbers below this one use only ports below the system's ephemeral ports."""
LARGE_BUFFER_BYTES = 4 << 20
"""The receive buffer size for large messages; a smaller buffer may lose fragments."""
UNLIMITED = -1
FAST_DDS = "1.15"
"""The vendor number of Fast DDS. Cyclone DDS 11 rejects sequences in the type format of Fast DDS 3."""
QUEUED_PRIORITY = -1
"""Cyclone DDS delivers samples of priority 0 or higher on the receiving thread, and all others through a queue."""


class Message(Protocol):
    """A message type: how to store a frame's header and payload in a message."""

    sample_type: type[Any]

    def topic(self, link: str) -> str: ...

    def write(self, header: bytearray, payload: bytearray) -> Any: ...

    def read(self, sample: Any) -> tuple[bytes, bytes]: ...


def configuration(setup: Setup, *, tagged: bool) -> str:
    """Return the configuration in the format of CYCLONEDDS_URI.

    On one machine, the domain uses only the loopback interface and finds peers without multicast. Across machines, the
    domain uses the network interface with this machine's address and finds peers by multicast.

    A domain tag isolates the trial from other trials in the same domain. Other DDS libraries do not support domain
    tags, so they cannot connect to the trial. Without a domain tag, types match Fast DDS types by name, as in ROS 2.

    Discovery probes the ports of a hundred processes; with more ports, the port ranges of adjacent domains overlap.
    """
    at = setup.advertised
    multicast, discovery = ("false", "false") if at == LOOPBACK else ("true", "spdp")
    large = setup.settings["profile"] == "large"
    size = "<MaxMessageSize>65500B</MaxMessageSize>" if large else ""
    tag = f"<Tag>{setup.run}</Tag>" if tagged else ""
    ignored = f"<IgnoreTypeInformation>{FAST_DDS}</IgnoreTypeInformation>"
    types = "" if tagged else f"<Compatibility>{ignored}</Compatibility>"
    buffer = f"<Internal><SocketReceiveBufferSize max='{LARGE_BUFFER_BYTES}B'/></Internal>" if large else ""
    return (
        "<CycloneDDS><Domain id='any'>"
        f"<General><Interfaces><NetworkInterface address='{at}' multicast='{multicast}'/></Interfaces>"
        f"<AllowMulticast>{discovery}</AllowMulticast>{size}</General>"
        "<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>"
        f"<Peers><Peer address='{at}'/></Peers>{tag}</Discovery>"
        f"{buffer}{types}</Domain></CycloneDDS>"
    )


class Participant:
    """The domain and participant that all link ends of a node share."""

    def __init__(self, setup: Setup, *, tagged: bool) -> None:
        self.setup = setup
        domain = self._number = 1 + int(setup.run[:8], 16) % DOMAINS
        try:
            self._domain = Domain(domain, configuration(setup, tagged=tagged))
            self._participant = DomainParticipant(domain)
        except Exception as cause:
            remedy = f"check that {network_device(setup)} is up and that fewer than 100 processes use this domain"
            raise AdapterError(f"Cyclone DDS could not join domain {domain} on {setup.advertised}", remedy) from cause
        self._own = self._participant.get_instance_handle()
        self._ways: set[str] = set()
        # The binding requires that one thread creates all topics of a type.
        self._making = threading.Lock()

    def topic(self, message: Message, link: Link) -> Topic[Any]:
        with self._making:
            return Topic(self._participant, message.topic(link.name), message.sample_type)

    def writer(self, topic: Topic[Any], qos: Qos) -> DataWriter[Any]:
        return DataWriter(self._participant, topic, qos)

    def reader(self, topic: Topic[Any], qos: Qos) -> DataReader[Any]:
        return DataReader(self._participant, topic, qos)

    def writer_qos(self, link: Link) -> Qos:
        return Qos(*self._policies(), *_priority(queued=self._is_queued(link)))

    def reader_qos(self) -> Qos:
        return Qos(*self._policies())

    def service_qos(self) -> Qos:
        """Return the quality of service of service topics: reliable and volatile, as in ROS 2, with the history of the
        settings."""
        return Qos(*self._history_policies(reliable=True, volatile=True))

    def request_qos(self, link: Link) -> Qos:
        """Return the quality of service of a client's writer. A request to a callback server goes through a queue of
        Cyclone DDS (see `_is_queued`)."""
        return Qos(*self._history_policies(reliable=True, volatile=True), *_priority(queued=link.wait == "callback"))

    def waitset(self, reader: DataReader[Any]) -> WaitSet:
        reader.set_status_mask(DDSStatus.DataAvailable)
        waitset = WaitSet(self._participant)
        waitset.attach(reader)
        return waitset

    def _is_queued(self, link: Link) -> bool:
        """Whether samples go through a queue to a thread that only calls listeners. Requests to callback servers go
        through the queue, so that the receiving thread stays free: a server's handler may wait for a reply that this
        thread must deliver."""
        if link.name.endswith("_reply"):
            return False
        if link.wait == "callback" and link.name.endswith("_request"):
            return True
        return bool(self.setup.settings["delivery"] == "asynchronous")

    def _policies(self) -> list[Any]:
        settings = self.setup.settings
        return self._history_policies(
            reliable=settings["reliability"] == "reliable", volatile=settings["durability"] == "volatile"
        )

    def _history_policies(self, *, reliable: bool, volatile: bool) -> list[Any]:
        settings = self.setup.settings
        keeps_last = settings["history"] == "keep-last"
        history = Policy.History.KeepLast(settings["depth"]) if keeps_last else Policy.History.KeepAll
        return [
            # If the writer's queue is full, a write returns busy without waiting.
            Policy.Reliability.Reliable(max_blocking_time=0) if reliable else Policy.Reliability.BestEffort,
            Policy.Durability.Volatile if volatile else Policy.Durability.TransientLocal,
            history,
            Policy.DurabilityService(0, history, UNLIMITED, UNLIMITED, UNLIMITED),
        ]

    def note(self, reader: DataReader[Any], writer: int) -> None:
        """Record how a received sample travelled."""
        told = reader.get_matched_publication_data(writer)
        if told is not None:  # the writer may have disconnected in the meantime
            within = told.participant_instance_handle == self._own
            self._ways.add("within the process" if within else f"UDP on {network_device(self.setup)}")

    def facts(self) -> dict[str, str]:
        facts = {"domain": str(self._number), "interface": self.setup.advertised, "shared_memory": "not used"}
        if self._ways:
            facts["path"] = ", ".join(sorted(self._ways))
        if self.setup.settings["profile"] == "large":
            facts |= _buffer_facts()
        return facts

    def close(self) -> None:
        delete(self._participant, self._domain)


def _priority(*, queued: bool) -> list[Any]:
    return [Policy.TransportPriority(QUEUED_PRIORITY)] if queued else []


def _buffer_facts() -> dict[str, str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGE_BUFFER_BYTES)
        # Linux reports twice the size that it grants, and may grant a smaller buffer than requested without an error.
        granted = probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
    facts = {"receive_buffer": f"{granted} bytes"}
    if granted < LARGE_BUFFER_BYTES:
        facts["fallback"] = (
            f"the kernel grants {granted} of {LARGE_BUFFER_BYTES} bytes of receive buffer, "
            f"so large messages may be lost: run sysctl -w net.core.rmem_max={LARGE_BUFFER_BYTES}"
        )
    return facts


def delete(*entities: Any) -> None:
    """Delete entities explicitly. Listeners and their readers refer to each other, so Python's reference counting alone
    does not free them."""
    for entity in entities:
        entity.__del__()
