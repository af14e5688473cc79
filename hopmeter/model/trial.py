"""Define the result of one trial, which the launcher passes to the store and the analysis."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class TrialResult:
    """The result of one trial, which executes a cell once. The results of failed trials are stored too, with the reason
    for the failure.

    `nodes` contains the `done` messages of the nodes, in node order (see docs/internals.md). Each message also contains
    `version`, `language` and `clock` from the node's `bound` message. `start_ns` is the start time on CLOCK_MONOTONIC
    that the launcher's message `go` announces.
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
    """The CPU time of all cores, in µs, that the hypervisor gave to other guests during the trial."""
    nodes: list[dict[str, Any]] = field(default_factory=list)
    samples: str = ""
    """The Parquet file with the samples, relative to the run folder, or an empty string if no samples were recorded."""
    round: int | None = None
    """The number of the trial's round. A round contains one trial of each cell of a table, without a break. The number
    is None in runs of older versions, which have no rounds."""
    steal_share: float | None = None
    """The share of CPU time that was stolen on the nodes' cores, from `go` until all nodes were done."""
    turn_s: float | None = None
    """The length of a duet's turn in seconds, or None if the trial is not part of a duet."""
    background_cpu_percent: float | None = None
    """The mean use of each core by the background load in percent, from `go` until all nodes were done, or None if
    there is no CPU load."""
    background_memory_gb_s: float | None = None
    """The gigabytes per second that the background load copied from `go` until all nodes were done, or None if there is
    no memory load."""
    killed_ns: int | None = None
    """When the process that hopmeter killed in the middle of the trial had ended, on CLOCK_MONOTONIC, or None if
    nothing was restarted."""
    restarted_ns: int | None = None
    """When the killed process was started again, on CLOCK_MONOTONIC, or None if nothing was restarted."""
    ready_ns: int | None = None
    """When hopmeter found the restarted process ready, on CLOCK_MONOTONIC, or None if nothing was restarted or the
    process did not become ready."""

    restart_error: str | None = None
    """Why the restarted process did not serve, or None if it did or if nothing was restarted."""

    def as_json(self) -> dict[str, Any]:
        """Convert the trial to a JSON object for one line of `trials.jsonl`."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> TrialResult:
        """Create a trial from the parsed JSON object of a line of `trials.jsonl`."""
        return cls(**row)
