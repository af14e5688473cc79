"""Measure one trial from its raw samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hopmeter.analysis.arrivals import minus
from hopmeter.analysis.flow import Flow
from hopmeter.analysis.latencies import Pieces, latencies, trim
from hopmeter.analysis.pace import Pace, measure_pace
from hopmeter.analysis.reading import flows
from hopmeter.analysis.servers import by_server
from hopmeter.analysis.sinks import by_sink
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import Samples

PACING = "pacing_error"
"""Sent minus intended."""


@dataclass
class Counts:
    """The message counts of a trial, over all pairs. docs/metrics.md defines each."""

    sent: int = 0
    received: int = 0
    expected: int = 0
    duplicated: int = 0
    reordered: int = 0
    abandoned: int = 0
    stray: int = 0
    trimmed: int = 0
    messages: int = 0
    """Recorded at the sources, a scatter's requests once."""

    @property
    def lost(self) -> int:
        """Count the messages that should have arrived and did not, including abandoned ones."""
        return self.expected - self.received

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__})


@dataclass
class Measured:
    """The values measured from one trial's samples."""

    counts: Counts = field(default_factory=Counts)
    latencies: Pieces = field(default_factory=dict)
    paces: list[Pace] = field(default_factory=list)

    @property
    def achieved_hz(self) -> float | None:
        """Return the achieved rate, averaged over the pairs."""
        rates = [pace.achieved_hz for pace in self.paces if pace.achieved_hz]
        return sum(rates) / len(rates) if rates else None


def measure(cell: Cell, path: Path) -> Measured:
    """Measure a trial from its samples.

    Raises StoreError if they are missing or damaged.
    """
    trial = Measured()
    for flow in flows(cell, Samples(path)):
        trial.counts += _counts(flow)
        trial.paces.append(measure_pace(flow))
        pieces = latencies(flow) | by_server(flow) | by_sink(flow)
        if cell.axes.pacing.is_scheduled:
            pieces[PACING] = [minus(flow.send_times, flow.intended_times)]
        for name, each in pieces.items():
            trial.latencies.setdefault(name, []).extend(each)
    if not trial.counts.messages:
        raise StoreError(f"the samples {path} hold no message of a source", "measure the trial again")
    return trial


def _counts(flow: Flow) -> Counts:
    offered = sum(lane.offered for lane in flow.lanes)
    abandoned = sum(lane.abandoned for lane in flow.lanes)
    deliveries = flow.deliveries
    return Counts(
        sent=offered - abandoned,
        received=sum(each.received_count for each in deliveries),
        expected=flow.expected_count,
        duplicated=sum(each.duplicate_count for each in deliveries),
        reordered=sum(each.reordered_count for each in deliveries),
        abandoned=abandoned + sum(each.refused for each in (*flow.relays, *flow.ends)),
        stray=sum(each.stray for each in deliveries),
        trimmed=2 * trim(flow.messages),
        messages=flow.lanes[0].offered,
    )


def reject_altered(result: TrialResult) -> TrialResult:
    """Return the trial as the analysis judges it: a trial with altered payloads is not good."""
    wrong = sum_counter(result, "content_errors")
    if not result.good or not wrong:
        return result
    return replace(result, good=False, reason=f"{wrong} payloads did not arrive as they were sent")


def sum_counter(result: TrialResult, name: str, roles: Iterable[str] = ()) -> int:
    """Sum a counter of a trial's endpoints, over all or over some roles."""
    wanted = set(roles)
    participants: list[dict[str, Any]] = [each for node in result.nodes for each in node.get("participants", [])]
    return sum(each.get(name, 0) for each in participants if not wanted or each.get("role") in wanted)
