"""Limit hopmeter's claims about one-way latencies between hosts to the accuracy of the hosts' clocks. docs/method.md
has the rules.

All cells with the same hosts share one error of the clock offset; only a small residual differs between trials. Claims
about differences between cells are therefore limited by the clock residual alone. The full clock uncertainty limits
claims about levels, ratios and deadlines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from hopmeter.analysis.latency.host_clocks import ClockUncertainty
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.columns import BOUNDED
from hopmeter.statistics import CellPair, Ranking
from hopmeter.statistics.ranking import rank_ranges

Values = Mapping[str, Any]
Bounds = tuple[float | None, float | None]
TIMES_RESIDUAL = 2.0
"""The clock errors of two trials rarely differ by more than this many residuals."""


def largest(trials: Iterable[Mapping[str, ClockUncertainty]]) -> dict[str, ClockUncertainty]:
    """Return the largest clock uncertainty of each latency over all trials of a cell."""
    found: dict[str, ClockUncertainty] = {}
    for trial in trials:
        for name, each in trial.items():
            found[name] = found.get(name, each) | each
    return found


def largest_of_rows(rows: Iterable[Values]) -> ClockUncertainty | None:
    """Return the largest clock uncertainty in the given rows, or None if no row compares two clocks."""
    found = [row for row in rows if row.get("clock_uncertainty_us") is not None]
    if not found:
        return None
    whole, residual = (max(row[f"clock_{name}_us"] for row in found) for name in ("uncertainty", "residual"))
    return ClockUncertainty(whole * 1000, residual * 1000)


def clock_residual_us(clock: ClockUncertainty) -> float:
    """Return the largest possible difference between the clock errors of two trials, in µs."""
    return TIMES_RESIDUAL * clock.residual_ns / 1000


def widen_level(bounds: Bounds, uncertainty_us: float) -> Bounds:
    """Return the interval with both ends widened by the clock uncertainty."""
    low, high = bounds
    return None if low is None else low - uncertainty_us, None if high is None else high + uncertainty_us


def claim_latencies(columns: Values, uncertainties: Mapping[str, ClockUncertainty], headline: str) -> dict[str, Any]:
    """Return new column values for each latency that starts on one clock and ends on another.

    The confidence interval of a latency that spans two clocks is widened by the clock uncertainty. If a latency's
    median is below the clock uncertainty, its columns become None, unless the latency is the headline.
    """
    claimed: dict[str, Any] = {}
    for name, each in uncertainties.items():
        own = [column for column in columns if column.startswith(f"{name}_")]
        median_us, whole_us = columns.get(f"{name}_p50_us"), each.whole_ns / 1000
        if name != headline and (median_us is None or median_us < whole_us):
            claimed |= dict.fromkeys(own)
            continue
        for percentile in BOUNDED:
            ends = [f"{name}_{percentile}_{end}_us" for end in ("low", "high")]
            low, high = widen_level((columns.get(ends[0]), columns.get(ends[1])), whole_us)
            claimed |= {column: value for column, value in zip(ends, (low, high), strict=True) if column in columns}
    ranks = uncertainties.get(headline)
    if ranks:
        claimed |= {"clock_uncertainty_us": ranks.whole_ns / 1000, "clock_residual_us": ranks.residual_ns / 1000}
    return claimed


def coarse_clock_warning(columns: Values, headline: str) -> list[str]:
    """Return a warning if the median headline latency is below the clock uncertainty."""
    uncertainty_us, median_us = columns.get("clock_uncertainty_us"), columns.get(f"{headline}_p50_us")
    if uncertainty_us is None or median_us is None or median_us >= uncertainty_us:
        return []
    return [
        tag(
            "W-CLOCK-COARSE",
            f"the median of {median_us:.3g} us is less than the uncertainty of the clocks, {uncertainty_us:.3g} us; "
            "only differences between transports count",
        )
    ]


def coarse_deadline_warning(cell: Cell, columns: Values) -> list[str]:
    """Return a warning if the deadline is shorter than the clock uncertainty."""
    uncertainty_us, deadline_us = columns.get("clock_uncertainty_us"), columns.get("deadline_us")
    if uncertainty_us is None or deadline_us is None or deadline_us >= uncertainty_us:
        return []
    key = f"flow.{cell.flow}.deadline" if cell.flow else f"path.{cell.path}.deadline"
    return [
        tag(
            "W-CLOCK-DEADLINE",
            f"{key}: it is unknown whether a message meets its deadline of {deadline_us:.3g} us, because the offset of "
            f"the hosts' clocks is known only to within {uncertainty_us:.3g} us",
        )
    ]


def claim_ranking(ranking: Ranking, rows: Mapping[str, Values]) -> Ranking:
    """Return the ranking, limited to the differences that the clocks can resolve. All cells of the ranking must run on
    the same hosts."""
    clock = largest_of_rows(rows[cell] for cell in ranking.cells if cell in rows)
    if clock is None:
        return ranking
    whole_us, residual_us = clock.whole_ns / 1000, clock_residual_us(clock)
    levels = {cell: (at, *widen_level((low, high), whole_us)) for cell, (at, low, high) in ranking.levels.items()}
    pairs = tuple(_claim_pair(pair, ranking, whole_us, residual_us) for pair in ranking.pairs)
    return replace(ranking, levels=levels, pairs=pairs, ranks=rank_ranges(ranking.choices, pairs))


def _claim_pair(pair: CellPair, ranking: Ranking, whole_us: float, residual_us: float) -> CellPair:
    """Widen the confidence interval of a pair's ratio or difference by the clock errors. A significant difference stays
    significant only if clock errors alone cannot explain the difference of the medians."""
    here, there = ranking.levels[pair.a][0], ranking.levels[pair.b][0]
    decided = pair.decided and there - here > residual_us
    if pair.ratio is None:
        low, high = widen_level((pair.low, pair.high), residual_us)
        return replace(pair, decided=decided, low=low, high=high)
    low, high = widen_ratio((pair.low, pair.high), here, whole_us, residual_us)
    return replace(pair, decided=decided, low=low, high=high)


def widen_ratio(bounds: Bounds, a_us: float, whole_us: float, residual_us: float) -> Bounds:
    """Return the interval of the ratio `b / a`, widened by the possible clock errors: (b ± d) / (a ± d).

    Both medians share an error of at most `whole_us`, and their difference has a further error of at most
    `residual_us`. The upper bound is None if `a_us` may be zero.
    """
    low, high = bounds
    if low is None or high is None or a_us <= 0:
        return None, None
    least, most = (_ratios(each * a_us, a_us, whole_us, residual_us) for each in (low, high))
    may_be_zero = a_us - whole_us - residual_us / 2 <= 0
    return 0.0 if may_be_zero and low < 1 else max(0.0, min(least)), None if may_be_zero else max(most)


def _ratios(b_us: float, a_us: float, whole_us: float, residual_us: float) -> list[float]:
    """Return the ratio of two medians for each extreme combination of clock errors that keeps the divisor positive."""
    corners = product((-whole_us, whole_us), (-residual_us / 2, residual_us / 2))
    parts = [(b_us + common + own, a_us + common - own) for common, own in corners]
    return [above / below for above, below in parts if below > 0]
