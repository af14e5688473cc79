"""The evidence for or against a requirement: the confidence interval of its metric, and the number of rounds needed for
a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.analysis.cells.cell import Judged, missing
from hopmeter.analysis.latency.clock_claims import largest, widen_level
from hopmeter.analysis.latency.deadlines import missed_interval
from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.latency.intervals import ALPHA, LEAST_TRIALS, measure_spread
from hopmeter.analysis.latency.latency_columns import join
from hopmeter.analysis.latency.percentiles import PERMILLE, quantiles
from hopmeter.analysis.latency.trial import Measured
from hopmeter.model.cell import Cell
from hopmeter.scenario.requirement import Requirement
from hopmeter.statistics.shares.late_shares import MOST_TIMES, late_share_interval

Values = Mapping[str, Any]
TAILS = ("p99", "p999")
COLUMNS = {"cpu": "cpu_core_percent{}", "p50": "median{}_us"}
"""Maps metrics to the row's columns with their confidence intervals."""
Bounds = tuple[float, float, float]


@dataclass(frozen=True)
class Evidence:
    """The confidence interval of a metric, and the estimated number of rounds needed for a verdict on the requirement.
    A field is None if its value is unknown."""

    low: float | None = None
    high: float | None = None
    rounds: int | None = None


def sample_evidence(
    cell: Cell, trials: Sequence[Judged], wanted: Sequence[Requirement], alpha: float
) -> dict[str, Evidence]:
    """Return the evidence that samples provide on tail percentiles, loss and missed deadlines, keyed by the text of
    each requirement."""
    measured = [each.measured for each in trials if each.measured]
    if not measured:
        return {}
    found = {each.text: _tail(each, measured, headline(cell), alpha) for each in wanted if each.metric in TAILS}
    found |= {each.text: _lost(each, measured, alpha) for each in wanted if each.metric == "lost"}
    return found | {each.text: _missed_share(each, measured, alpha) for each in wanted if each.metric == "missed_share"}


def applies(wanted: Requirement, cell: Cell) -> bool:
    """Return whether a requirement applies to a cell.

    In a workload, latency requirements apply to flows and paths, and CPU requirements to the whole workload.
    Requirements on missed deadlines apply to every cell, flow or path that has a deadline.
    """
    if cell.workload is None:
        return wanted.metric != "missed_share"
    if wanted.metric == "missed_share":
        return cell.is_whole_workload or cell.deadline_s is not None
    return wanted.metric == "lost" or cell.is_whole_workload == (wanted.metric == "cpu")


def row_evidence(wanted: Requirement, row: Values, alpha: float) -> Evidence:
    """Return the evidence from the row's columns for a requirement on the median or the CPU use, and empty evidence for
    any other requirement."""
    if wanted.metric not in COLUMNS:
        return Evidence()
    low, point, high = (row.get(COLUMNS[wanted.metric].format(end)) for end in ("_low", "", "_high"))
    if low is None or high is None or point is None:
        return Evidence()
    return _from_interval(wanted, (low, point, high), row["trials_good"], alpha)


def _from_interval(wanted: Requirement, at_95: Bounds, trials: int, alpha: float) -> Evidence:
    """Convert a 95 % interval to the significance level of an interim analysis (look).

    The converted interval may be too wide but never too narrow, because the half-width of the 95 % interval also
    contains the bias.
    """
    rounds = _rounds(at_95, wanted.limit, trials)
    if alpha == ALPHA:
        return Evidence(at_95[0], at_95[2], rounds)
    from scipy.special import stdtrit  # SciPy is slow to import, and few runs have requirements

    factor = float(stdtrit(trials - 1, 1 - alpha / 2) / stdtrit(trials - 1, 1 - ALPHA / 2))
    low, point, high = at_95
    if low > 0:
        return Evidence(point * (low / point) ** factor, point * (high / point) ** factor, rounds)
    return Evidence(point - factor * (point - low), point + factor * (high - point), rounds)


def _rounds(bounds: Bounds, limit: float, trials: int) -> int | None:
    """Return how many rounds make the interval exclude the limit, or None if the measured value is too close to the
    limit."""
    low, point, high, end = (math.log(each) for each in (*bounds, limit)) if bounds[0] > 0 else (*bounds, limit)
    half, distance = max(high - point, point - low), abs(end - point)
    times = (half / distance) ** 2 if distance else math.inf
    return math.ceil(trials * max(times, 1.0)) if times < MOST_TIMES else None


def _tail(wanted: Requirement, trials: Sequence[Measured], latency: str, alpha: float) -> Evidence:
    """Return the confidence interval of a tail percentile in µs. The interval's upper bound is infinite if too many
    messages were lost."""
    pooled, parts = join([trial.latencies.get(latency, []) for trial in trials])
    lost = missing(trials, latency)
    if not len(pooled):
        return Evidence()
    positive, permille = int(pooled.min()) > 0, PERMILLE[wanted.metric]
    spread = measure_spread(parts, lost, permille)
    point = quantiles(pooled, [permille], sum(lost))[0]
    low, high = (None if each is None else each / 1000 for each in spread.bounds(point, positive, alpha))
    if clock := largest(trial.clocks for trial in trials).get(latency):
        return Evidence(*widen_level((low, high), clock.whole_ns / 1000))
    if spread.tail is None and low is not None and high is not None and point is not None:
        return Evidence(low, high, _rounds((low, point / 1000, high), wanted.limit, len(trials)))
    return Evidence(low, high, spread.tail.trials_needed(wanted.limit * 1000, alpha) if spread.tail else None)


def _missed_share(wanted: Requirement, trials: Sequence[Measured], alpha: float) -> Evidence:
    """Return the confidence interval of the share of missed deadlines. If the requirement allows no missed deadline,
    the bounds differ only by the clock uncertainty."""
    counts = [trial.missed for trial in trials if trial.missed]
    messages = sum(each.messages for each in counts)
    if not messages:
        return Evidence()
    if not wanted.limit:
        least, most = (sum(each) / messages for each in zip(*(one.bounds for one in counts), strict=True))
        return Evidence(least, most)
    return Evidence(*missed_interval(counts, alpha))


def _lost(wanted: Requirement, trials: Sequence[Measured], alpha: float) -> Evidence:
    """Return the confidence interval of the share of lost messages. If the requirement allows no loss, both bounds are
    the observed share."""
    lost, expected = ([getattr(trial.counts, name) for trial in trials] for name in ("lost", "expected"))
    if not sum(expected):
        return Evidence()
    if not wanted.limit:
        return Evidence(sum(lost) / sum(expected), sum(lost) / sum(expected))
    return Evidence(*late_share_interval(lost, expected, alpha)) if len(trials) >= LEAST_TRIALS else Evidence()
