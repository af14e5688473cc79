"""A workload: the programs of a system, the flows of messages and calls between them, and the paths that flows form.

Every cell has flows. An ordinary cell has one flow for each of its pairs (`plan.flows`); a workload names its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hopmeter.model.paces import PaceName

PER_FLOW = "per-flow"
"""The value of `threads` for a participant that handles the messages of each flow on a thread of its own."""
NO_CODEC = "none"
"""The value of `codec` for a flow whose messages are bytes, or are encoded by the transport."""
MESSAGE = "message:"
"""How a payload begins that is a message of a schema."""


@dataclass(frozen=True)
class Participant:
    """A program: one process, in which several flows may start and end."""

    name: str
    language: str
    wait: str
    """How it waits for messages: `spin`, `block` or `callback`."""
    core_list: tuple[int, ...] = ()
    """The cores of its threads; empty if they are not pinned."""
    fifo: int = 0
    """The SCHED_FIFO priority; 0 is the ordinary scheduler."""
    threads: str = PER_FLOW
    """`per-flow`, or how many messages it handles at once, as a number."""
    transports: tuple[str, ...] = ()
    """The transports of its flows, with their settings; it has a process for each. Empty if it is one process."""
    host: str = field(default="", repr=False)
    """The host on which it runs; empty for this machine. `repr` leaves it out, because the graph is the same wherever
    it runs."""


@dataclass(frozen=True)
class Carrier:
    """A transport with its settings. A participant has one process for each carrier of its flows."""

    transport: str
    profile: str = ""
    """The settings that differ from the transport's defaults, as `name=value name=value`."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Every setting, resolved."""
    rpc: str = "duplex"
    """How calls are carried: `native` or `duplex`."""
    encodes: bool = False
    """Whether the transport itself encodes objects."""
    own_types: bool = False
    """Whether it carries messages of the user's own type as such, and not only bytes."""

    @property
    def key(self) -> str:
        """Return what tells carriers apart."""
        return " ".join([self.transport, *(f"{name}={value}" for name, value in sorted(self.settings.items()))])

    @property
    def name(self) -> str:
        """Return `zeromq hwm=10`."""
        return " ".join(filter(None, [self.transport, self.profile]))


@dataclass(frozen=True)
class Replay:
    """The recording that a flow replays."""

    recording: str
    """The absolute path of the recording, a colon, and the topic."""
    speed: float = 1.0
    """How many times as fast the recording is replayed."""
    loop: bool = False
    """Whether the recording begins again when it ends."""
    warmup_s: float = 0.0
    """The recording begins after this time. In this time its first messages are sent, too, but they do not count."""
    duration_s: float = 0.0
    mean_bytes: float = 0.0
    """The mean size of the messages that count."""
    ends_s: float | None = None
    """When the last message is due if the recording ends before `duration_s`; otherwise None."""
    type: str = field(default="", repr=False)
    """The type of the messages, such as `nav_msgs/msg/Odometry`; empty if the recording names none."""
    encoding: str = field(default="", repr=False)
    """How the messages are encoded, such as `cdr`."""
    definition: str | None = field(default=None, repr=False)
    """The definition of the type and of all types in it; None if the recording has none as the text of ROS 2."""
    notes: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """What was left out of the recording, and why; the same table has other notes if the recording is read better."""


@dataclass(frozen=True)
class Flow:
    """A stream of messages, or of calls, from one participant to one or more others."""

    number: int
    """The number in the header of each of its frames."""
    payload: str
    payload_bytes: int
    """The size of a message; of a flow that replays a recording, the size of the largest."""
    name: str = ""
    source: str = ""
    """The participant that sends or calls."""
    targets: tuple[str, ...] = ()
    """The participants that receive or answer."""
    pattern: str = "pubsub"
    """`pubsub` for messages, `rpc` for calls to one server, `scatter` for calls to several servers."""
    touch: str = "none"
    codec: str = NO_CODEC
    device: str = "cpu"
    share: str = "none"
    pace: PaceName = "open"
    rate_hz: float | None = None
    """None for a flow without a clock of its own."""
    burst: int = 1
    ramp_to_hz: float | None = field(default=None, repr=False)
    """The rate at the end of a trial with the pace `ramp`."""
    messages: int = 0
    """The number of messages that each trial measures; for a flow without a clock the most that it can send, and with
    the pace `closed` the most that are measured."""
    warmup: int = 0
    first_due_s: float = 0.0
    """When the first message of a flow with a clock is due after the start of the schedule. The first message that
    counts is due at the end of the warm-up."""
    work: str = "none"
    """The work before a message is sent because of another, or of the server for each call."""
    receiver_work: str = "none"
    """The work of each receiver for each message."""
    dispatch: str = "parallel"
    after: tuple[str, ...] = ()
    """The flows whose arrival at `source` causes a message of this flow; empty for a flow with a clock."""
    join: str = "any"
    """With several flows in `after`: a message for each arrival (`any`), or for one new arrival of each (`all`)."""
    every: int = 1
    """Only every n-th arrival causes a message."""
    repeat: int = 1
    """How many messages each such arrival causes, one after the other."""
    latest: str = ""
    """The flow whose newest message each message of this flow is based on; empty if there is none."""
    during: str = ""
    """The call during which `source` makes this call; empty if there is none."""
    replay: Replay | None = None
    """The recording that the messages come from; None for messages of one size."""
    concurrency: int = 1
    """The most calls under way at once."""
    returns: str = ""
    """With the pace `closed`: the flow whose arrival at `source` lets it send its next message."""
    window_s: tuple[float, float] | None = None
    """With the pace `closed`: how long it sends before it is measured, and how long it is measured."""
    deadline_s: float | None = None
    """The most time from when a message is due until it arrives, or until its reply arrives."""
    carrier: Carrier | None = None
    """The transport of a flow that has one of its own; None for the transport of the cell."""
    bridged: str = ""
    """In a bridge: the flow whose messages it passes on to another process of the same participant."""
    bridged_to: tuple[str, ...] = ()
    """In a bridge: the flows of that other process which these messages cause."""

    @property
    def has_codec(self) -> bool:
        """Return whether its messages are objects that a codec encodes."""
        return self.codec != NO_CODEC

    @property
    def has_object(self) -> bool:
        """Return whether its messages are an object, which a codec or the transport encodes."""
        return self.has_codec or self.payload.startswith(MESSAGE)

    @property
    def mean_bytes(self) -> int:
        """Return the mean size of its messages."""
        return round(self.replay.mean_bytes) if self.replay else self.payload_bytes

    @property
    def is_call(self) -> bool:
        """Return whether its messages are answered."""
        return self.pattern != "pubsub"

    @property
    def causes(self) -> tuple[str, ...]:
        """Return the flows that cause its messages, or on whose newest message they are based."""
        return (*self.after, *filter(None, (self.latest, self.during, self.returns)))

    def joins(self, before: str, after: str) -> bool:
        """Return whether it is the bridge between two flows that cause each other."""
        return self.bridged == before and after in self.bridged_to


@dataclass(frozen=True)
class Path:
    """Flows whose messages cause each other, from the first to the last."""

    name: str
    flows: tuple[str, ...]
    deadline_s: float | None = None


@dataclass(frozen=True)
class Workload:
    """The graph that one trial runs."""

    participants: tuple[Participant, ...]
    flows: tuple[Flow, ...]
    paths: tuple[Path, ...] = ()
    bridges: tuple[Flow, ...] = ()
    """The bridges between two processes of one participant. Which ones a graph needs depends on the transport."""

    def flow(self, name: str) -> Flow:
        """Return the flow or the bridge with this name."""
        return next(each for each in (*self.flows, *self.bridges) if each.name == name)

    def chain(self, name: str) -> frozenset[str]:
        """Return the name of a flow and of all flows that cause it, directly or through others."""
        found: set[str] = set()
        open_ = [name]
        while open_:
            each = open_.pop()
            if each not in found:
                found.add(each)
                open_ += self.flow(each).causes
        return frozenset(found)

    def participant(self, name: str) -> Participant:
        """Return the participant with this name."""
        return next(each for each in self.participants if each.name == name)

    def path(self, name: str) -> Path:
        """Return the path with this name."""
        return next(each for each in self.paths if each.name == name)

    def route(self, name: str) -> list[Flow]:
        """Return the flows of a path in order, with the bridges between them."""
        found: list[Flow] = []
        for each in self.path(name).flows:
            found += [bridge for bridge in self.bridges if found and bridge.joins(found[-1].name, each)]
            found.append(self.flow(each))
        return found

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Workload:
        """Make a workload from the JSON object in `run.json`; the reverse of `dataclasses.asdict`."""
        return cls(
            participants=tuple(_make(Participant, each) for each in row["participants"]),
            flows=tuple(map(_make_flow, row["flows"])),
            paths=tuple(_make(Path, each) for each in row["paths"]),
            bridges=tuple(map(_make_flow, row.get("bridges", ()))),
        )


def _make_flow(row: Mapping[str, Any]) -> Flow:
    parts = {"carrier": Carrier, "replay": Replay}
    objects = {name: _make(kind, row[name]) for name, kind in parts.items() if row.get(name)}
    made: Flow = _make(Flow, {**row, **objects})
    return made


def _make(kind: type[Any], row: Mapping[str, Any]) -> Any:
    known = {each.name for each in fields(kind)} & set(row)
    return kind(**{name: tuple(row[name]) if isinstance(row[name], list) else row[name] for name in known})
