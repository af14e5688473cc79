"""Compute all measured values of a trial from its samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hopmeter.analysis.latency.arrivals import Times, minus
from hopmeter.analysis.latency.clock_claims import largest
from hopmeter.analysis.latency.deadlines import MissedCount, judge_deadline
from hopmeter.analysis.latency.growth import trend_of
from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.latency.host_clocks import ClockUncertainty
from hopmeter.analysis.latency.latencies import Pieces, clock_uncertainties, count_missing, latencies, trim
from hopmeter.analysis.latency.pace import AchievedPace, measure_pace
from hopmeter.analysis.latency.pair import Pair
from hopmeter.analysis.latency.paths import path_times
from hopmeter.analysis.latency.servers import by_server, lost_by_server
from hopmeter.analysis.latency.sinks import by_sink, lost_by_sink
from hopmeter.analysis.latency.trial_pairs import pairs
from hopmeter.analysis.moments.first_message import FirstMessage, find_first_message
from hopmeter.analysis.moments.recovery import Recovery, find_recovery
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.condition_values import rates_of
from hopmeter.model.trial import TrialResult
from hopmeter.plan.flows import flows
from hopmeter.plan.workloads.workload_cells import flow_cell, rows_of
from hopmeter.statistics.trends import Trend
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import Samples

PACING = "pacing_error"
"""The latency from the due time to the send time."""


@dataclass
class Counts:
    """The message counts of a trial, summed over all pairs. docs/metrics.md defines each count."""

    sent: int = 0
    received: int = 0
    expected: int = 0
    duplicated: int = 0
    reordered: int = 0
    abandoned: int = 0
    stray: int = 0
    trimmed: int = 0
    messages: int = 0
    """The number of messages that the sources recorded. All requests of one scatter count as one message."""

    @property
    def lost(self) -> int:
        """The number of messages that should have arrived but did not, including messages that the source abandoned."""
        return self.expected - self.received

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__})


@dataclass
class Measured:
    """The values measured from the samples of one trial."""

    counts: Counts = field(default_factory=Counts)
    latencies: Pieces = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)
    """The number of lost messages without the latency, by name of the latency."""
    paces: list[AchievedPace] = field(default_factory=list)
    missed: MissedCount | None = None
    """The missed deadlines of a flow or path."""
    clocks: dict[str, ClockUncertainty] = field(default_factory=dict)
    """The clock uncertainty of each latency that starts on one clock and ends on another."""
    first: FirstMessage | None = None
    """The first message of a trial whose source sends at once, otherwise None."""
    recovery: Recovery | None = None
    """How the trial recovered from its restart, or None if the trial has no restart."""
    trend: Trend | None = None
    """The growth of the first pair's median latency during the trial, or None if the trial is too short."""

    @property
    def achieved_hz(self) -> float | None:
        """The achieved rate, averaged over the pairs, or None if it is unknown."""
        rates = [pace.achieved_hz for pace in self.paces if pace.achieved_hz]
        return sum(rates) / len(rates) if rates else None


def measure(cell: Cell, path: Path) -> Measured:
    """Compute all measured values of a trial from its samples.

    Raises StoreError if the samples are missing or damaged, and ClockError if the times of two hosts cannot be
    compared.
    """
    if cell.path:
        return _measure_path(cell, path)
    if cell.workload is not None and not cell.flow:
        return _measure_workload(cell, path)
    trial = Measured()
    deadline_s = cell.deadline_s
    for pair in pairs(cell, Samples(path)):
        trial.clocks = largest([trial.clocks, clock_uncertainties(pair)])
        if deadline_s is not None:
            doubt = trial.clocks.get("response", ClockUncertainty())
            trial.missed = judge_deadline(pair.due_times, pair.completion_times, deadline_s, doubt.whole_ns)
        if trial.trend is None and _is_steady(cell):
            trial.trend = trend_of(_start(cell, pair), pair.completion_times)
        trial.counts += _counts(pair)
        trial.missing += count_missing(pair) + lost_by_server(pair) + lost_by_sink(pair)
        trial.paces.append(measure_pace(pair))
        pieces = latencies(pair) | by_server(pair) | by_sink(pair)
        if cell.axes.pacing.is_scheduled:
            pieces[PACING] = [minus(pair.send_times, pair.due_times)]
        for name, each in pieces.items():
            trial.latencies.setdefault(name, []).extend(each)
    if not trial.counts.messages:
        raise StoreError(
            "E-NO-MESSAGES", f"the samples {path} contain no message of a source", "measure the trial again"
        )
    return trial


def measure_first_message(cell: Cell, result: TrialResult, path: Path) -> Measured:
    """Compute the values of a trial that measures only the time to its first message.

    Raises StoreError if the samples are missing or damaged.
    """
    counts, name = measure(cell, path).counts, headline(cell)
    first = find_first_message(cell, result, Samples(path))
    return replace(_moments_of(counts, name, first.took_ns), first=first)


def measure_recovery(cell: Cell, result: TrialResult, path: Path) -> Measured:
    """Compute the values of a trial with a restart, which measures only the time to the next message.

    Raises StoreError if the samples are missing or damaged, or if nothing was restarted.
    """
    recovery = find_recovery(cell, result, Samples(path))
    moments = _moments_of(measure(cell, path).counts, headline(cell), recovery.took_ns)
    return replace(moments, recovery=recovery)


def _moments_of(counts: Counts, name: str, took_ns: int | None) -> Measured:
    """Return the values of a trial that measures only the time `took_ns`, which is None if no message arrived."""
    took = {} if took_ns is None else {name: [np.array([took_ns])]}
    return Measured(counts, took, Counter({name: int(not took)}))


def _is_steady(cell: Cell) -> bool:
    """Return whether the rate is constant. If the rate changes, the latency may grow because of the change alone."""
    rates = rates_of(cell.axes)
    return rates is None or rates.is_steady


def _start(cell: Cell, pair: Pair) -> Times:
    return pair.due_times if headline(cell) == "response" else pair.send_times


def _measure_workload(cell: Cell, path: Path) -> Measured:
    """Count the messages of all flows, and the missed deadlines of all flows and paths.

    A message is counted only once, even if a bridge passes it on. Latencies appear only in the rows of flows and paths.
    """
    running = [measure(flow_cell(cell, flow), path) for flow in flows(cell) if not flow.bridged]
    paths = [measure(each, path) for each in rows_of(cell) if each.path and each.deadline_s is not None]
    missed = [each.missed for each in (*running, *paths) if each.missed]
    counts = sum((each.counts for each in running), Counts())
    return Measured(counts, missed=sum(missed, MissedCount(0, 0, 0)) if missed else None)


def _measure_path(cell: Cell, file: Path) -> Measured:
    """Measure a path. A message of the path's first flow counts as lost if it had no effect."""
    times = path_times(cell, file)
    reaction, deadline_s = times.reaction, cell.deadline_s
    counts = Counts(sent=len(times.due), received=len(reaction), expected=len(times.due), messages=len(times.due))
    trend = trend_of(times.due, times.effect)
    trial = Measured(counts, {"reaction": [reaction], "data_age": [times.data_age]}, trend=trend)
    trial.missing["reaction"] = counts.lost
    trial.clocks = dict.fromkeys(("reaction", "data_age"), times.clock) if times.clock.whole_ns else {}
    if deadline_s is not None:
        trial.missed = judge_deadline(times.due, times.effect, deadline_s, times.clock.whole_ns)
    return trial


def _counts(pair: Pair) -> Counts:
    offered = sum(lane.offered for lane in pair.lanes)
    abandoned = sum(lane.abandoned for lane in pair.lanes)
    deliveries = pair.deliveries
    return Counts(
        sent=offered - abandoned,
        received=sum(each.received_count for each in deliveries),
        expected=pair.expected_count,
        duplicated=sum(each.duplicate_count for each in deliveries),
        reordered=sum(each.reordered_count for each in deliveries),
        abandoned=abandoned + sum(each.refused for each in (*pair.relays, *pair.ends)),
        stray=sum(each.stray for each in deliveries),
        trimmed=2 * trim(pair.messages),
        messages=pair.lanes[0].offered,
    )


def reject_altered(result: TrialResult) -> TrialResult:
    """Return the trial as not good if payloads arrived with wrong content; otherwise, return the trial unchanged."""
    wrong = sum_counter(result, "content_errors")
    if not result.good or not wrong:
        return result
    return replace(result, good=False, reason=tag("E-CONTENT", f"{wrong} payloads arrived with wrong content"))


def sum_counter(result: TrialResult, name: str, roles: Iterable[str] = ()) -> int:
    """Sum a counter over the endpoints of a trial, or over the endpoints with the given roles."""
    wanted = set(roles)
    endpoints: list[dict[str, Any]] = [each for node in result.nodes for each in node.get("endpoints", [])]
    return sum(each.get(name, 0) for each in endpoints if not wanted or each.get("role") in wanted)
