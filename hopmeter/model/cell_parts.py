"""Define the parts of a cell: its conditions, carriage, schedule, node settings and comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hopmeter.model import units
from hopmeter.model.conditions import AT_ONCE, NOTHING, Conditions
from hopmeter.model.paces import PACES, PaceKind

PATIENCE_S = 10.0
"""How long, in seconds, a client waits for a missing reply in addition to the requested work."""
HEADER_BYTES = 64


@dataclass(frozen=True)
class Axes(Conditions):
    """The conditions of a cell, and values that are derived from the conditions."""

    @property
    def waits(self) -> tuple[str, ...]:
        """Return how the receivers wait for messages: one word for all receivers, or one word for each sink."""
        return waits_of(self.wait)

    @property
    def place(self) -> tuple[str, ...]:
        """Return the device of the object that a codec encodes, and how the object is shared, such as `("gpu",
        "cuda-ipc")`."""
        return (self.device,) if self.share == "none" else (self.device, self.share)

    @property
    def pacing(self) -> PaceKind:
        """Return the properties of the pace at which the source sends."""
        return PACES[self.pace]

    @property
    def begins_at_once(self) -> bool:
        """Return whether the source begins without a test of the links, so that the time to the first message can be
        measured."""
        return self.begin == AT_ONCE

    @property
    def has_restart(self) -> bool:
        """Return whether hopmeter kills and restarts a process in the middle of each trial."""
        return self.restart != NOTHING

    @property
    def pause_s(self) -> float:
        """Return how long the restarted process stays down, in seconds."""
        return units.seconds(self.pause)

    @property
    def measures_moments(self) -> bool:
        """Return whether each trial measures one time, such as the time to its first message, instead of a latency of
        each message."""
        return self.begins_at_once or self.has_restart

    @property
    def is_ring(self) -> bool:
        """Return whether the messages return to their source through relays, so that the source is also the last
        receiver."""
        return self.pattern == "pubsub" and self.pacing.awaits_return and self.relays > 0

    @property
    def sinks_work(self) -> bool:
        """Return whether the sinks do the requested work, because the cell has neither relays nor servers."""
        return self.pattern == "pubsub" and not self.relays

    @property
    def hops(self) -> int:
        """Return the number of hops from the source to the last receiver. A ring of n relays also has n + 1 hops,
        because the last hop returns to the source."""
        return self.relays + 1

    @property
    def ideal_s(self) -> float | None:
        """Return how long the work for one message takes in total, in seconds, or None if the scenario requests no
        time.

        If several servers are called in parallel, they work at the same time, so that only the longest work counts.
        """
        many = self.sinks if self.pattern == "scatter" else self.relays + (self.pattern == "rpc")
        if not many:
            return None  # the work of sinks is not part of the latency, because sinks work after the arrival
        works_ns = units.works_ns(self.work, many)
        if not works_ns:
            return None
        at_once = self.pattern == "scatter" and self.dispatch == "parallel"
        return (max(works_ns) if at_once else sum(works_ns)) / 1e9


@dataclass(frozen=True)
class Carriage:
    """How the transport carries the messages: the transport's settings, and properties that the manifest states."""

    payload_bytes: int
    profile: str = ""
    """The settings that differ from the manifest's defaults, as `name=value name=value`."""
    settings: dict[str, Any] = field(default_factory=dict)
    """All settings, including defaults."""
    rpc: str = "duplex"
    """How calls are carried: as the transport's own calls (`native`), or over two pubsub links (`duplex`)."""
    forward: str = "copy"
    send: str = "nonblocking"
    system_copies: int | None = None
    """The number of copies of a payload that the operating system makes on each hop, according to the manifest."""
    acknowledged_by: str | None = None
    """Who confirms a message to its sender: `broker`, `receiver` or `none`. The value is None in runs of earlier
    versions."""
    own_encoders: bool = False
    """Whether the transport itself encodes the cell's objects, so that encoding is part of the hop and has no separate
    time."""
    own_types: bool = False
    """Whether the transport can carry messages as the user's own type instead of as bytes."""

    @property
    def frame_bytes(self) -> int:
        """Return the size of a frame in bytes, which includes the header and the payload."""
        return HEADER_BYTES + self.payload_bytes


@dataclass(frozen=True)
class Schedule:
    """How many messages each trial measures, and how long each phase of the trial may take."""

    messages: int = 1000
    warmup: int = 0
    trials: int = 5
    timed: bool = False
    """Whether each trial ends after a fixed time, because the cell has a duration but no rate."""
    limit_s: float = 60.0
    retry_s: float = 1.0
    """How long, in seconds, the instrument retries a refused message."""
    patience_s: float = PATIENCE_S
    """How long, in seconds, a client waits for a reply beyond the requested work. A source with `returns` waits just as
    long for a message to return."""
    drain_s: float = 0.2
    """How long, in seconds, receivers continue to listen after the last due time."""
    timeout_s: float = 20.0
    """The time limit, in seconds, for each step of a node's start and stop."""


@dataclass(frozen=True)
class NodeSettings:
    """How the nodes run, for example on which cores and with which priority.

    Endpoint number i is pinned to a core in `core_list`; the index of the core is i modulo the length of the list. If
    `core_list` is empty, endpoints are not pinned to cores.
    """

    core_list: tuple[int, ...] = ()
    spin_us: float | None = None
    """How long a node spins before each due time, in µs, or None if each process itself measures the necessary time."""
    fifo: int = 0
    mlock: bool = False
    no_idle_states: bool = False
    reply: str = "echo"
    checksum: bool = False
    background: str = ""
    """The background load, such as `cpu 50%, memory 2GB/s`, or an empty string if there is none."""
    hosts: str = ""
    """The hosts of the endpoints in order, such as `a>b>c`. For a workload, the string lists the host of each
    participant, such as `camera:a motor:b`.

    The string is empty if all nodes run on this machine.
    """


@dataclass(frozen=True)
class Comparison:
    """The cells with which a cell is compared, such as its floor."""

    floor: str | None = None
    """The id of the cell that is the floor of this cell, measured in the same run."""
    floor_reason: str = ""
    """The reason why this cell has no floor."""
    ranked: bool = True
    """Whether the cell is ranked. Floors that the planner added and transports without practical use (`synthetic`) are
    not ranked."""
    installable: bool = True
    """Whether a user can install the transport as a library. The value is False for references, such as a floor or a
    plain socket."""
    search: str = ""
    """The id of the first cell of the rate search that this cell belongs to, or an empty string outside a search."""
    search_round: int | None = None
    """The round of a repeated search that this cell belongs to: 0 for the flood that comes first, then 1, 2 and so on.
    The value is None in a search without rounds."""
    side: str = ""
    """The cell's side (`old` or `new`) in a run that measures two sides, otherwise an empty string."""
    counterpart: str = ""
    """The id of the same cell on the other side."""
    alongside: str = ""
    """The transport of the cell, if this flow or path uses a different transport. The cell's transport carries other
    flows at the same time."""
    alone: str = ""
    """The flow that this cell measures separately, together with only the flows that cause it. The string is empty for
    any other cell."""
    beside: str = ""
    """The id of the cell with the whole workload if this cell measures one flow separately, or an empty string."""


def waits_of(word: str) -> tuple[str, ...]:
    """Split a value of the condition `wait` into one value for each receiver."""
    return tuple(word.split("+"))
