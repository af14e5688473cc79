"""The parts of a cell: its axes, its carriage, its schedule, how its nodes run, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hopmeter.model import units
from hopmeter.model.conditions import Conditions
from hopmeter.model.paces import PACES, PaceKind

PATIENCE_S = 10.0
"""How long a client waits for a missing reply, beyond the requested work."""
HEADER_BYTES = 64


@dataclass(frozen=True)
class Axes(Conditions):
    """The conditions of a cell, and what follows from them."""

    @property
    def waits(self) -> tuple[str, ...]:
        """Return how the receivers wait: one word for all receivers, or one word for each sink."""
        return waits_of(self.wait)

    @property
    def place(self) -> tuple[str, ...]:
        """Return the device of a codec's object, and how the object is shared: `("gpu", "cuda-ipc")`."""
        return (self.device,) if self.share == "none" else (self.device, self.share)

    @property
    def pacing(self) -> PaceKind:
        """Return the properties of the pace."""
        return PACES[self.pace]

    @property
    def is_ring(self) -> bool:
        """Return whether messages come back to their source through relays, so that the source is also the last
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
        """Return the time that a message's requested work takes, or None if no time was requested.

        Servers that are called at once work in parallel, so the longest of their work times counts.
        """
        many = self.sinks if self.pattern == "scatter" else self.relays + (self.pattern == "rpc")
        if not many:
            return None  # sinks work after the arrival
        works_ns = units.works_ns(self.work, many)
        if not works_ns:
            return None
        at_once = self.pattern == "scatter" and self.dispatch == "parallel"
        return (max(works_ns) if at_once else sum(works_ns)) / 1e9


@dataclass(frozen=True)
class Carriage:
    """How the transport carries the messages: its settings, and the properties that its manifest declares."""

    payload_bytes: int
    profile: str = ""
    """Settings that differ from the manifest's defaults, as `name=value name=value`; empty for the default profile."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Every setting, resolved."""
    rpc: str = "duplex"
    """How calls are carried: as the transport's own calls (`native`), or over two pubsub links (`duplex`)."""
    forward: str = "copy"
    send: str = "nonblocking"
    system_copies: int | None = None
    """The number of copies of a payload that the operating system makes on each hop, from the manifest."""
    own_encoders: bool = False
    """Whether the transport itself encodes the objects of the cell; encoding is then part of the hop and has no
    separate time."""
    own_types: bool = False
    """Whether the transport carries messages of the user's own type as such, and not only bytes."""

    @property
    def frame_bytes(self) -> int:
        """Return the size of a frame: header and payload together."""
        return HEADER_BYTES + self.payload_bytes


@dataclass(frozen=True)
class Schedule:
    """How many messages each trial measures, and how long each phase may take."""

    messages: int = 1000
    warmup: int = 0
    trials: int = 5
    timed: bool = False
    """Whether a trial ends after a time: it has a duration, but no rate that would determine the number of messages."""
    limit_s: float = 60.0
    retry_s: float = 1.0
    """How long the instrument offers a refused message again."""
    patience_s: float = PATIENCE_S
    """How long a client waits for a reply beyond the requested work, and a source with `returns` for a message."""
    drain_s: float = 0.2
    """How long receivers continue to listen after the last due time."""
    timeout_s: float = 20.0
    """How long a node may take for each step of its start and its end."""


@dataclass(frozen=True)
class NodeSettings:
    """How the nodes run. Endpoint number i runs on the core at index i modulo the length of `core_list`; with an empty
    list, endpoints are not pinned."""

    core_list: tuple[int, ...] = ()
    spin_us: float | None = None
    """None: each process that sleeps measures how long it must spin."""
    fifo: int = 0
    mlock: bool = False
    no_idle_states: bool = False
    reply: str = "echo"
    checksum: bool = False
    background: str = ""
    """The load of the machine beside the nodes, such as `cpu 50%, memory 2GB/s`; empty without any."""
    hosts: str = ""
    """The hosts of the endpoints in their order, `a>b>c`; of a workload, the host of each participant: `camera:a
    motor:b`. Empty if all nodes run on this machine."""


@dataclass(frozen=True)
class Comparison:
    """The cells with which this cell is compared."""

    floor: str | None = None
    """The id of the cell that is the floor of this cell, measured in the same run."""
    floor_reason: str = ""
    """The reason why this cell has no floor."""
    ranked: bool = True
    """False for floors that the planner added, and for transports that you would not choose (`synthetic`)."""
    installable: bool = True
    """False for a reference: a transport that is no library, such as a floor or a bare socket."""
    search: str = ""
    """If this cell is a step of a search for the highest rate, the id of the first cell of that search; otherwise
    empty."""
    side: str = ""
    """`old` or `new` in a run that measures two sides; empty for a cell without a side."""
    counterpart: str = ""
    """The id of the same cell on the other side."""
    alongside: str = ""
    """In the row of a flow or path that does not use the transport of its cell: that transport, alongside which the
    flow runs. Otherwise empty."""
    alone: str = ""
    """If this cell runs one flow of a workload alone, with the flows that cause it, the name of this flow."""
    beside: str = ""
    """The id of the cell that runs the whole workload, if this cell runs a flow of it alone."""


def waits_of(word: str) -> tuple[str, ...]:
    """Return the waits that a value of the axis `wait` names."""
    return tuple(word.split("+"))
