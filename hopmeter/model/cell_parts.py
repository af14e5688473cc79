"""The parts of a cell: its conditions, its carriage, its schedule, the settings of its nodes, and its comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hopmeter.model import units
from hopmeter.model.conditions import Conditions
from hopmeter.model.paces import PACES, PaceKind

PATIENCE_S = 10.0
"""How long a client waits for a missing reply beyond the requested work, in seconds."""
HEADER_BYTES = 64


@dataclass(frozen=True)
class Axes(Conditions):
    """The conditions of a cell, and values derived from them."""

    @property
    def waits(self) -> tuple[str, ...]:
        """Return the waits of the receivers: one for all receivers, or one for each sink."""
        return waits_of(self.wait)

    @property
    def place(self) -> tuple[str, ...]:
        """Return the device of a codec's object and how the object is shared: `("gpu", "cuda-ipc")`."""
        return (self.device,) if self.share == "none" else (self.device, self.share)

    @property
    def pacing(self) -> PaceKind:
        """Return the properties of the cell's pace."""
        return PACES[self.pace]

    @property
    def is_ring(self) -> bool:
        """Return whether messages return to their source through relays, so that the source is also the last
        receiver."""
        return self.pattern == "pubsub" and self.pacing.awaits_return and self.relays > 0

    @property
    def sinks_work(self) -> bool:
        """Return whether the sinks do the work, because there is neither a relay nor a server."""
        return self.pattern == "pubsub" and not self.relays

    @property
    def hops(self) -> int:
        """Return the number of hops from the source to the last receiver; a ring of n relays also has n + 1 hops."""
        return self.relays + 1

    @property
    def ideal_s(self) -> float | None:
        """Return the total time of the requested work for one message in seconds; None if no time is requested.

        Servers that are called in parallel work concurrently, so the longest of their times counts.
        """
        many = self.sinks if self.pattern == "scatter" else self.relays + (self.pattern == "rpc")
        if not many:
            return None  # sinks work after the arrival, so their work does not count
        works_ns = units.works_ns(self.work, many)
        if not works_ns:
            return None
        at_once = self.pattern == "scatter" and self.dispatch == "parallel"
        return (max(works_ns) if at_once else sum(works_ns)) / 1e9


@dataclass(frozen=True)
class Carriage:
    """How the transport carries the messages: its settings, and the properties from its manifest."""

    payload_bytes: int
    profile: str = ""
    """The settings that differ from the manifest's defaults, as `name=value name=value`; empty if none differs."""
    settings: dict[str, Any] = field(default_factory=dict)
    """All settings, including defaults."""
    rpc: str = "duplex"
    """How calls are carried: as the transport's own calls (`native`), or over two pubsub links (`duplex`)."""
    forward: str = "copy"
    send: str = "nonblocking"
    system_copies: int | None = None
    """The number of copies of a payload that the operating system makes on each hop, from the manifest."""
    own_encoders: bool = False
    """Whether the transport encodes the objects of the cell itself. Encoding is then part of the hop and has no
    separate time."""
    own_types: bool = False
    """Whether the transport can carry messages as the user's own type, and not only as bytes."""

    @property
    def frame_bytes(self) -> int:
        """Return the size of a frame, which consists of header and payload."""
        return HEADER_BYTES + self.payload_bytes


@dataclass(frozen=True)
class Schedule:
    """How many messages each trial measures, and how long each phase may take."""

    messages: int = 1000
    warmup: int = 0
    trials: int = 5
    timed: bool = False
    """Whether a trial ends after a time, because it has a duration but no rate that determines the number of
    messages."""
    limit_s: float = 60.0
    retry_s: float = 1.0
    """How long the instrument offers a refused message again."""
    patience_s: float = PATIENCE_S
    """How long a client waits for a reply beyond the requested work, and how long a source with `returns` waits for a
    message."""
    drain_s: float = 0.2
    """How long receivers continue to listen after the last due time."""
    timeout_s: float = 20.0
    """How long a node may take for each step of its start and its end."""


@dataclass(frozen=True)
class NodeSettings:
    """How the nodes run. Endpoint i is pinned to the core at index i modulo the length of `core_list`; if the list is
    empty, endpoints are not pinned."""

    core_list: tuple[int, ...] = ()
    spin_us: float | None = None
    """How long a node spins before each due time, in µs; None: each process measures how long it must spin."""
    fifo: int = 0
    mlock: bool = False
    no_idle_states: bool = False
    reply: str = "echo"
    checksum: bool = False
    background: str = ""
    """The background load, such as `cpu 50%, memory 2GB/s`; empty without a load."""
    hosts: str = ""
    """The hosts of the endpoints in order, `a>b>c`; for a workload, the host of each participant: `camera:a motor:b`.
    Empty if all nodes run on this machine."""


@dataclass(frozen=True)
class Comparison:
    """The cells with which this cell is compared."""

    floor: str | None = None
    """The id of the cell that is the floor of this cell, measured in the same run."""
    floor_reason: str = ""
    """The reason why this cell has no floor."""
    ranked: bool = True
    """False for floors that the planner added, and for transports without practical use (`synthetic`)."""
    installable: bool = True
    """False for a reference: a transport that is not a library, such as a floor or a plain socket."""
    search: str = ""
    """For a step of a search for the highest rate, the id of the first cell of that search; otherwise empty."""
    side: str = ""
    """`old` or `new` in a run that measures two sides; empty for a cell without a side."""
    counterpart: str = ""
    """The id of the same cell on the other side."""
    alongside: str = ""
    """For a flow or path that does not use the transport of its cell, that transport, which carries other flows
    concurrently; otherwise empty."""
    alone: str = ""
    """The flow that this cell runs alone, with only the flows that cause it; otherwise empty."""
    beside: str = ""
    """If this cell runs a flow alone, the id of the cell that runs the whole workload; otherwise empty."""


def waits_of(word: str) -> tuple[str, ...]:
    """Return the separate waits in a value of the condition `wait`."""
    return tuple(word.split("+"))
