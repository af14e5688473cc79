"""A cell: one fully determined configuration."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from hopmeter.model import units
from hopmeter.model.paces import PACES, Pace, PaceName

AXES = (
    "pattern",
    "placement",
    "wait",
    "cores",
    "payload",
    "touch",
    "codec",
    "device",
    "share",
    "pace",
    "rate_hz",
    "relays",
    "sinks",
    "pairs",
    "work",
    "asking",
    "burst",
    "heap",
)
"""The fields that a scenario may give several values of, beside transport, language and settings."""

CALL_S = 10.0
"""How long a client waits at least for a reply that does not come."""


@dataclass(frozen=True)
class Cell:
    """One fully determined configuration, as `run.json` keeps it and `cells.parquet` repeats it.

    `language` is source>relay>sink, shortened to one word where all are the same. `core_list` holds the cores that
    participant i takes at i modulo its length; empty means unpinned. Times are nanoseconds, sizes bytes.
    """

    id: str
    transport: str
    language: str
    pattern: str
    placement: str
    wait: str
    cores: str
    payload: str
    payload_bytes: int
    touch: str
    codec: str
    pace: PaceName
    rate_hz: float | None
    relays: int
    sinks: int
    pairs: int = 1
    messages: int = 1000
    warmup: int = 0
    trials: int = 5
    device: str = "cpu"
    """Where the object of a codec lives."""
    share: str = "none"
    """How an object on a GPU gets to another process: through the host, or `cuda-ipc`, by a handle of its memory."""
    work: str = "none"
    asking: str = "parallel"
    """Whether a scatter asks its servers at once or one after the other."""
    reply: str = "echo"
    checksum: bool = False
    profile: str = ""
    """Settings that differ from the manifest's defaults, as `name=value name=value`; empty for the default profile."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Every setting, resolved."""
    core_list: tuple[int, ...] = ()
    spin_us: float | None = None
    """None: learned by whoever sleeps."""
    burst: int = 1
    heap: str = "kept"
    """Whether the nodes' C library keeps what they free, or does by itself what it does (`libc`)."""
    limit_s: float = 60.0
    drain_s: float = 0.2
    busy_s: float = 1.0
    timeout_s: float = 20.0
    """How long a node may take for each step of its start and its end."""
    timed: bool = False
    """Whether a trial ends by its time: it has a duration, and no rate that would say how many messages that is."""
    rpc: str = "duplex"
    """How rpc is carried: the transport's own calls (`native`), or two pubsub links."""
    fifo: int = 0
    mlock: bool = False
    awake: bool = False
    forward: str = "copy"
    send: str = "nonblocking"
    system_copies: int | None = None
    """Copies of a payload that the operating system makes on each hop, as the manifest says."""
    own_encoders: bool = False
    """Whether the transport encodes the cell's objects by itself: within the hop, where nobody can tell it apart."""
    floor: str | None = None
    """The id of the cell that is this one's floor, measured in the same run."""
    floor_reason: str = ""
    """Why there is no floor."""
    ranked: bool = True
    """False for floors added by the planner and for transports that are no candidates (`synthetic`)."""
    search: str = ""
    """The id of the first cell of the search for the highest rate that this one is a step of; empty without one."""
    dropped: str = ""
    """Why this cell is not measured; empty where it is."""

    def as_json(self) -> dict[str, Any]:
        """The cell as `run.json` holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Cell:
        """A cell as `run.json` holds it; the reverse of `as_json`."""
        return cls(**{**row, "core_list": tuple(row["core_list"])})

    @property
    def waits(self) -> tuple[str, ...]:
        """How its receivers wait: one for all, or one for each sink."""
        return waits_of(self.wait)

    @property
    def place(self) -> tuple[str, ...]:
        """Where the object of a codec lives, and how it is shared if it is, for who reads: `("gpu", "cuda-ipc")`."""
        return (self.device,) if self.share == "none" else (self.device, self.share)

    @property
    def pacing(self) -> Pace:
        """The properties of its pace."""
        return PACES[self.pace]

    @property
    def is_ring(self) -> bool:
        """Whether messages come back to their source over the same links, so that it is the last receiver too."""
        return self.pattern == "pubsub" and self.pacing.awaits_return

    @property
    def sinks_work(self) -> bool:
        """Whether the cell's work is its sinks': there is neither a relay nor a server to do it."""
        return self.pattern == "pubsub" and not self.relays

    @property
    def frame_bytes(self) -> int:
        """What travels: the 64-byte header and the payload."""
        return 64 + self.payload_bytes

    @property
    def ideal_s(self) -> float | None:
        """The work that was asked for on the way of a message, and nothing else; None where no time was.

        Servers asked at once work at the same time, so that the slowest counts.
        """
        many = self.sinks if self.pattern == "scatter" else self.relays + (self.pattern == "rpc")
        if not many:
            return None  # what sinks do with a message comes when it has arrived
        asked_ns = units.works_ns(self.work, many)
        if not asked_ns:
            return None
        at_once = self.pattern == "scatter" and self.asking == "parallel"
        return (max(asked_ns) if at_once else sum(asked_ns)) / 1e9

    @property
    def call_s(self) -> float:
        """How long a client waits for a reply that does not come, beyond what was asked of those who answer."""
        return CALL_S + (self.ideal_s or 0.0)

    @property
    def hops(self) -> int:
        """Hops from the source to the last receiver; a ring of n relays has n + 1 too."""
        return self.relays + 1


DEFAULTS = {each.name: each.default for each in fields(Cell) if each.default is not MISSING}
"""What a cell has where nobody says otherwise."""


def waits_of(word: str) -> tuple[str, ...]:
    """The waits that a value of the axis `wait` names."""
    return tuple(word.split("+"))
