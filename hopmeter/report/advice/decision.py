"""Which transport of a table is best for a user: the rows that can be installed and meet the requirements, compared."""

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
"""Rows whose medians differ by less than this factor are the same to a user, as in comparisons of runs."""


@dataclass(frozen=True)
class Decision:
    """The advice of one table."""

    group: Group
    best: tuple[Row, ...] = ()
    """The rows that no other is better than; first the one to take."""
    worse: tuple[Row, ...] = ()
    """The other rows that meet the requirements, the best first."""
    undecided: tuple[Row, ...] = ()
    """The rows of which it is unknown whether they meet the requirements."""
    missing: tuple[Row, ...] = ()
    """The rows that miss a requirement, failed, or could not keep up."""
    by: str = ""
    """What decides among `best`: `order` if it is one row, `cpu`, `same` if they differ by so little that any will do,
    or `now` if none is better than what the user has."""

    @property
    def take(self) -> Row | None:
        """Return the row to take; None if nothing is decided."""
        return self.best[0] if self.is_decided else None

    @property
    def is_decided(self) -> bool:
        """Return whether the table advises anything: a single row, or a few that are better than others."""
        is_choice = len(self.best) + len(self.worse) + len(self.missing) > 1
        return bool(self.best) and is_choice and bool(self.by not in ("", "now") or self.worse)


def decide(group: Group, now: str | None = None) -> Decision:
    """Decide which row of a table to take; a user keeps the transport `now` unless another is better."""
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
    """Return whether the rounds decide that `one` is better than `other`."""
    if not is_whole(group):
        return faster(one, other)
    ranking = ranking_of(one)
    return ranking is not None and (one.id, other.id) in ranking.decisions


def _kind(group: Group, row: Row) -> Verdict:
    """Return whether a row meets what is required of it; one that failed or could not keep up does not."""
    return verdict(row) if has_result(group, row) else Verdict.MISSES


def has_result(group: Group, row: Row) -> bool:
    """Return whether a row can be ranked: it has a median, or is a workload that was carried."""
    return row["status"] == "ok" and row["rank_low"] is not None if is_whole(group) else row.ok


def verdict(row: Row) -> Verdict:
    """Return whether a row meets the requirements."""
    return Verdict(row["require"] or Verdict.MEETS)


def _sort_rows(group: Group, rows: Iterable[Row]) -> list[Row]:
    """Return rows by their place in the table."""
    if is_whole(group):
        return sorted(rows, key=lambda row: row.criteria)
    return sorted(rows, key=lambda row: _number(row.p50))


def _number(value: float | None) -> float:
    return math.inf if value is None else float(value)


def _first(group: Group, best: Sequence[Row], now: str | None) -> tuple[Row | None, str]:
    """Return the row to take among those that do not differ, and what decides it: the one that certainly needs the
    least CPU, the one that the user has now, or any if all are the same."""
    if len(best) < 2:
        return (best[0] if best else None), "order" if best else ""
    cheapest = min(best, key=lambda row: _number(row["cpu_core_percent"]))
    if all(has_less_cpu(cheapest, row) for row in best if row is not cheapest):
        return cheapest, "cpu"
    if mine := [row for row in best if row["transport"] == now]:
        return mine[0], "now"
    return best[0], "same" if not is_whole(group) and _are_same(best) else ""


def has_less_cpu(one: Row, other: Row) -> bool:
    """Return whether `one` needs less CPU than `other`, with intervals that do not touch."""
    high, low = one["cpu_core_percent_high"], other["cpu_core_percent_low"]
    return high is not None and low is not None and high < low


def _are_same(rows: Sequence[Row]) -> bool:
    """Return whether no two rows can differ by more than a few percent."""
    bounds = [known.bounds if (known := compare(*pair)) else (None, None, None) for pair in combinations(rows, 2)]
    return all(low is not None and high is not None and low >= 1 / SAME and high <= SAME for _, low, high in bounds)
