"""Choose the recommended row of a table from the installable rows that meet the requirements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.row_order import compare, faster
from hopmeter.analysis.results.run_results import Row
from hopmeter.model.requirement_verdict import Verdict
from hopmeter.report.answers.workload_answer import ranking_of
from hopmeter.report.words.workload_words import is_whole

SAME = 1.05
"""Medians that differ by less than this factor count as equal. Comparisons of runs use the same factor."""


@dataclass(frozen=True)
class Decision:
    """The recommendation from one table."""

    group: Group
    best: tuple[Row, ...] = ()
    """The rows that no other row beats. The first of these rows is recommended."""
    worse: tuple[Row, ...] = ()
    """The other rows that meet the requirements, best first."""
    undecided: tuple[Row, ...] = ()
    """The rows for which the verdict on the requirements is undecided."""
    missing: tuple[Row, ...] = ()
    """The rows that miss a requirement, failed, or could not keep up."""
    by: str = ""
    """Why the first of `best` was selected: `order` (the only one), `cpu` (less CPU), `same` (practically equal) or
    `now` (the current transport). The string is empty if no rule selects a row."""

    @property
    def take(self) -> Row | None:
        """The recommended row, or None if the table supports no recommendation."""
        return self.best[0] if self.is_decided else None

    @property
    def is_decided(self) -> bool:
        """Whether the table supports a recommendation."""
        is_choice = len(self.best) + len(self.worse) + len(self.missing) > 1
        return bool(self.best) and is_choice and bool(self.by not in ("", "now") or self.worse)


def decide(group: Group, now: str | None = None) -> Decision:
    """Choose the best row of a table. The user's current transport `now` is recommended unless another transport is
    better."""
    rows = [row for row in group.choices if row.recommendable]
    kinds = {kind: _sort_rows(group, (row for row in rows if _kind(group, row) == kind)) for kind in Verdict}
    eligible = kinds[Verdict.MEETS]
    best = [row for row in eligible if not any(is_better(group, other, row) for other in eligible)]
    worse = tuple(row for row in eligible if row not in best)
    first, by = _first(group, best, now)
    others = [row for row in best if row is not first]
    return Decision(
        group,
        (first, *others) if first else (),
        worse,
        tuple(kinds[Verdict.UNDECIDED]),
        tuple(kinds[Verdict.MISSES]),
        by,
    )


def is_better(group: Group, one: Row, other: Row) -> bool:
    """Return whether the results show that `one` is better than `other`."""
    if not is_whole(group):
        return faster(one, other)
    ranking = ranking_of(one)
    return ranking is not None and (one.id, other.id) in ranking.decisions


def _kind(group: Group, row: Row) -> Verdict:
    """Return the Verdict on whether a row meets the requirements. A failed or saturated row misses the requirements."""
    return verdict(row) if has_result(group, row) else Verdict.MISSES


def has_result(group: Group, row: Row) -> bool:
    """Return whether a row has a median or, for a whole workload, a rank."""
    return row["status"] == "ok" and row["rank_low"] is not None if is_whole(group) else row.ok


def verdict(row: Row) -> Verdict:
    """Return the Verdict on whether a row meets the requirements. Without requirements, the Verdict is *meets*."""
    return Verdict(row["require"] or Verdict.MEETS)


def _sort_rows(group: Group, rows: Iterable[Row]) -> list[Row]:
    """Sort rows by median or, for a whole workload, by the criteria, with the best row first."""
    if is_whole(group):
        return sorted(rows, key=lambda row: row.criteria)
    return sorted(rows, key=lambda row: _number(row.p50))


def _number(value: float | None) -> float:
    return math.inf if value is None else float(value)


def _first(group: Group, best: Sequence[Row], now: str | None) -> tuple[Row | None, str]:
    """Return the recommended row and the reason for it: the lowest CPU use, the current transport, or practically equal
    rows."""
    if len(best) < 2:
        return (best[0] if best else None), "order" if best else ""
    cheapest = min(best, key=lambda row: _number(row["cpu_core_percent"]))
    if all(has_less_cpu(cheapest, row) for row in best if row is not cheapest):
        return cheapest, "cpu"
    if mine := [row for row in best if row["transport"] == now]:
        return mine[0], "now"
    return best[0], "same" if not is_whole(group) and _are_same(best) else ""


def has_less_cpu(one: Row, other: Row) -> bool:
    """Return whether the CPU interval of `one` lies entirely below the CPU interval of `other`."""
    high, low = one["cpu_core_percent_high"], other["cpu_core_percent_low"]
    return high is not None and low is not None and high < low


def _are_same(rows: Sequence[Row]) -> bool:
    bounds = [known.bounds if (known := compare(*pair)) else (None, None, None) for pair in combinations(rows, 2)]
    return all(low is not None and high is not None and low >= 1 / SAME and high <= SAME for _, low, high in bounds)
