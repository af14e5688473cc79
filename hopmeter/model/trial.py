"""The result of one trial, as the launcher passes it to the store and the analysis."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class TrialResult:
    """One execution of a cell. A failed trial is also stored, with the reason.

    `nodes` are the nodes' `done` messages in node order (see docs/internals.md), each with `version`, `language` and
    `clock` added from the node's `bound` message. `start_ns` is `go` on CLOCK_MONOTONIC.
    """

    cell: str
    trial: int
    good: bool
    reason: str = ""
    remedy: str = ""
    order: int = 0
    """The position of the trial in the shuffled order of the run."""
    start_ns: int = 0
    wall_s: float = 0.0
    steal_us: float = 0.0
    """CPU time of all cores that the hypervisor gave to other guests during the trial."""
    nodes: list[dict[str, Any]] = field(default_factory=list)
    samples: str = ""
    """The Parquet file, relative to the run folder; empty if nothing was recorded."""
    round: int | None = None
    """The number of the round to which this trial belongs; a round is one trial of each cell of a table, without a
    break. None in runs of versions that had no rounds."""
    steal_share: float | None = None
    """Like `steal_us`, but only from `go` until all nodes were done and only on their cores, as a share of the time of
    these cores."""
    turn_s: float | None = None
    """The length of the turns of a duet: the nodes of the other side ran at the same time. None in other trials."""
    background_cpu_percent: float | None = None
    """How busy the background load kept each of its cores, from `go` until all nodes were done; None without one."""
    background_memory_gb_s: float | None = None
    """How many gigabytes a second it copied in this time; None without a load of the memory."""

    def as_json(self) -> dict[str, Any]:
        """Return the trial as a line of `trials.jsonl`."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> TrialResult:
        """Make a trial from a line of `trials.jsonl`; the reverse of `as_json`."""
        return cls(**row)
