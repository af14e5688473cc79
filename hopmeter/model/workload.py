"""Define a workload: the programs of a system, the flows of messages and calls between them, and the paths, which join
flows.

Every cell has at least one flow: an ordinary cell has one flow for each pair (`plan.flows`), and a workload defines its
own flows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hopmeter.model.paces import PaceName

PER_FLOW = "per-flow"
"""The value of `threads` for a participant that handles each flow on a separate thread."""
NO_CODEC = "none"
"""The value of `codec` for a flow with messages that are bytes or are encoded by the transport."""
MESSAGE = "message:"
"""The prefix of a payload that is a schema message."""


@dataclass(frozen=True)
class Participant:
    """A program in which several flows may start and end."""

    name: str
    language: str
    wait: str
    """How the participant's receivers wait for messages: `spin`, `block` or `callback`."""
    core_list: tuple[int, ...] = ()
    """The cores of the participant's threads, or an empty tuple if the threads are not pinned."""
    fifo: int = 0
    """The SCHED_FIFO priority, or 0 for the ordinary scheduler."""
    threads: str = PER_FLOW
    """`per-flow`, or the number of messages that the participant handles at once."""
    transports: tuple[str, ...] = ()
    """The transports of the participant's flows, with their settings. The participant has one process per transport.

    The tuple is empty if the participant has only one process.
    """
    host: str = field(default="", repr=False)
    """The host that runs the participant, or an empty string for this machine.

    `repr` omits the host, so that the graph's id does not depend on hosts.
    """


@dataclass(frozen=True)
class Carrier:
    """A transport with its settings. A participant whose flows use several carriers has one process for each
    carrier."""

    transport: str
    profile: str = ""
    """The settings that differ from the transport's defaults, as `name=value name=value`."""
    settings: dict[str, Any] = field(default_factory=dict)
    """All settings, including defaults."""
    rpc: str = "duplex"
    """How calls are carried: `native` or `duplex`."""
    encodes: bool = False
    """Whether the transport encodes objects itself."""
    own_types: bool = False
    """Whether the transport can carry messages as the user's own type instead of as bytes."""

    @property
    def key(self) -> str:
        """Return a key that identifies the carrier by its transport and settings."""
        return " ".join([self.transport, *(f"{name}={value}" for name, value in sorted(self.settings.items()))])

    @property
    def name(self) -> str:
        """Return the transport's name with the changed settings, such as `zeromq hwm=10`."""
        return " ".join(filter(None, [self.transport, self.profile]))


@dataclass(frozen=True)
class Replay:
    """The recording that a flow replays, and how the flow replays it."""

    recording: str
    """The absolute path of the recording, followed by a colon and the topic."""
    speed: float = 1.0
    """The factor by which the messages are replayed faster than they were recorded."""
    loop: bool = False
    """Whether the replay starts again at the end of the recording."""
    warmup_s: float = 0.0
    """The duration of the warm-up before the replay. The warm-up sends the first messages of the recording without
    measuring them."""
    duration_s: float = 0.0
    mean_bytes: float = 0.0
    """The mean size of the measured messages."""
    ends_s: float | None = None
    """When the last message is due, in seconds, if the recording ends before `duration_s`, otherwise None."""
    type: str = field(default="", repr=False)
    """The type of the messages, such as `nav_msgs/msg/Odometry`, or an empty string if the recording does not name the
    type."""
    encoding: str = field(default="", repr=False)
    """The encoding of the messages, such as `cdr`."""
    definition: str | None = field(default=None, repr=False)
    """The definition of the type and of all types that it contains, or None if the recording has no definition in ROS 2
    text format."""
    notes: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Notes that explain why messages were left out. Comparisons ignore the notes, because another version of hopmeter
    may read the recording better."""


@dataclass(frozen=True)
class Flow:
    """A stream of messages or calls from one participant to one or more other participants."""

    number: int
    """The flow's number, which is part of each frame's header."""
    payload: str
    payload_bytes: int
    """The size of a message. For a replayed recording, the size of the largest message."""
    name: str = ""
    source: str = ""
    """The participant that sends the messages or makes the calls."""
    targets: tuple[str, ...] = ()
    """The participants that receive or reply."""
    pattern: str = "pubsub"
    """`pubsub` for messages, `rpc` for calls to one server, `scatter` for calls to several servers."""
    touch: str = "none"
    codec: str = NO_CODEC
    device: str = "cpu"
    share: str = "none"
    pace: PaceName = "open"
    rate_hz: float | None = None
    """The rate in messages per second, or None for a flow without a schedule."""
    burst: int = 1
    ramp_to_hz: float | None = field(default=None, repr=False)
    """The rate at the end of a trial with the pace `ramp`."""
    messages: int = 0
    """The number of messages that each trial measures, or an upper limit for a flow without a schedule."""
    warmup: int = 0
    first_due_s: float = 0.0
    """When the first message of a flow with a schedule is due, in seconds after the start of the schedule. The first
    measured message is due at the end of the warm-up."""
    work: str = "none"
    """The work of the sender before a message that another message causes, or of the server for each call."""
    receiver_work: str = "none"
    """The work of each receiver for each message."""
    dispatch: str = "parallel"
    after: tuple[str, ...] = ()
    """The flows that cause messages of this flow when they arrive at `source`. A flow with a schedule has no causes."""
    join: str = "any"
    """How several flows in `after` are combined: a message is sent for each arrival (`any`), or once each flow has a
    new arrival (`all`)."""
    every: int = 1
    """The interval of arrivals that cause a message: with the value n, only every n-th arrival does."""
    repeat: int = 1
    """The number of messages that each causing arrival causes. The messages are sent one after another."""
    latest: str = ""
    """The flow that provides the newest message for each message of this flow, or an empty string if no flow provides
    it."""
    during: str = ""
    """The call during which `source` makes this call, or an empty string if the flow is not such a call."""
    replay: Replay | None = None
    """The recording that provides the messages, or None for messages of a fixed size."""
    concurrency: int = 1
    """The maximum number of concurrent calls."""
    returns: str = ""
    """With the pace `closed`: the flow that lets this flow send its next message by arriving at `source`."""
    window_s: tuple[float, float] | None = None
    """With the pace `closed`: the durations of the warm-up and of the measurement, in seconds."""
    deadline_s: float | None = None
    """The maximum time from when a message is due until the message or its reply arrives."""
    carrier: Carrier | None = None
    """The flow's own transport, or None if the flow uses the transport of the cell."""
    bridged: str = ""
    """For a bridge: the flow that the bridge passes on to another process of the same participant."""
    bridged_to: tuple[str, ...] = ()
    """For a bridge: the flows that the bridge's messages cause in the receiving process."""

    @property
    def has_codec(self) -> bool:
        """Return whether the flow's messages are objects that a codec encodes."""
        return self.codec != NO_CODEC

    @property
    def has_object(self) -> bool:
        """Return whether the flow's messages are objects that a codec or the transport encodes."""
        return self.has_codec or self.payload.startswith(MESSAGE)

    @property
    def mean_bytes(self) -> int:
        """Return the mean size of the flow's messages in bytes."""
        return round(self.replay.mean_bytes) if self.replay else self.payload_bytes

    @property
    def is_call(self) -> bool:
        """Return whether the flow makes calls, which have replies."""
        return self.pattern != "pubsub"

    @property
    def causes(self) -> tuple[str, ...]:
        """Return the names of the flows that cause messages of this flow. The keys `after`, `latest`, `during` and
        `returns` name these flows."""
        return (*self.after, *filter(None, (self.latest, self.during, self.returns)))

    def joins(self, before: str, after: str) -> bool:
        """Return whether this flow is the bridge from the flow `before` to the flow `after`."""
        return self.bridged == before and after in self.bridged_to


@dataclass(frozen=True)
class Path:
    """A sequence of flows, in which each flow's messages cause the messages of the next flow."""

    name: str
    flows: tuple[str, ...]
    deadline_s: float | None = None


@dataclass(frozen=True)
class Workload:
    """The graph of participants, flows and paths that one trial runs."""

    participants: tuple[Participant, ...]
    flows: tuple[Flow, ...]
    paths: tuple[Path, ...] = ()
    bridges: tuple[Flow, ...] = ()
    """The bridges between processes of the same participant. The transports of the flows determine which bridges are
    needed."""

    def flow(self, name: str) -> Flow:
        """Return the flow or bridge with the given name."""
        return next(each for each in (*self.flows, *self.bridges) if each.name == name)

    def chain(self, name: str) -> frozenset[str]:
        """Return the names of a flow and of all flows that cause the flow's messages, directly or indirectly."""
        found: set[str] = set()
        open_ = [name]
        while open_:
            each = open_.pop()
            if each not in found:
                found.add(each)
                open_ += self.flow(each).causes
        return frozenset(found)

    def participant(self, name: str) -> Participant:
        """Return the participant with the given name."""
        return next(each for each in self.participants if each.name == name)

    def path(self, name: str) -> Path:
        """Return the path with the given name."""
        return next(each for each in self.paths if each.name == name)

    def route(self, name: str) -> list[Flow]:
        """Return the flows of a path in order, including the bridges between them."""
        found: list[Flow] = []
        for each in self.path(name).flows:
            found += [bridge for bridge in self.bridges if found and bridge.joins(found[-1].name, each)]
            found.append(self.flow(each))
        return found

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Workload:
        """Create a workload from a JSON object in `run.json` that `dataclasses.asdict` created."""
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
