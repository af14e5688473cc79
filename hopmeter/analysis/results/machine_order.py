"""Compare how several machines rank their common rows, by rank correlation and by the pairs whose order differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hopmeter.analysis.results.groups import CONDITIONS, Group
from hopmeter.analysis.results.row_order import faster
from hopmeter.analysis.results.run_results import Row
from hopmeter.model.language_names import language_name

LEAST = 3
"""The minimum number of rows for a meaningful rank correlation."""
Rows = dict[str, Row]
"""Rows by a name that is the same on all machines."""


@dataclass(frozen=True)
class Flip:
    """A pair of rows that two machines rank in a different order."""

    one: str
    other: str
    first: str
    """The machine on which `one` is faster."""
    second: str
    significant: bool
    """Whether the difference is significant on both machines. If the difference is not significant on both machines,
    the different order may be due to chance."""


@dataclass(frozen=True)
class Correlation:
    """How similarly two machines rank their common rows. The correlation coefficients are None if there are too few
    rows or all rows are tied."""

    first: str
    second: str
    rows: int
    spearman: float | None
    kendall: float | None


@dataclass(frozen=True)
class Comparison:
    """The groups that several machines measured under the same conditions, and how similarly the machines rank the rows
    of these groups."""

    groups: list[Group]
    rows: list[Rows]
    correlations: list[Correlation]
    flips: list[Flip]


def compare_machines(groups: Sequence[Group]) -> list[Comparison]:
    """Compare the machines under each set of conditions that at least two machines measured."""
    alike: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        if group.machine and group.candidates:
            alike.setdefault(tuple(group.conditions[key] for key in CONDITIONS), []).append(group)
    return [_comparison(family) for family in alike.values() if len(family) > 1]


def _comparison(family: list[Group]) -> Comparison:
    rows = [_rows(group) for group in family]
    pairs = list(combinations([(group.machine, own) for group, own in zip(family, rows, strict=True)], 2))
    flips = [flip for one, other in pairs for flip in _flips(one, other)]
    return Comparison(family, rows, [_correlation(one, other) for one, other in pairs], flips)


def _rows(group: Group) -> Rows:
    """Return the rows by name, fastest first. If several runs of a machine contain the same row, the row of the first
    run is used."""
    found: Rows = {}
    for row in group.candidates:
        parts = [str(row["transport"]), f"({language_name(str(row['language']))})", str(row["profile"] or "")]
        found.setdefault(" ".join(filter(None, parts)), row)
    return found


def _flips(one: tuple[str, Rows], other: tuple[str, Rows]) -> Iterator[Flip]:
    shared = [name for name in one[1] if name in other[1]]
    for ahead, behind in combinations(shared, 2):
        here = one[1][ahead], one[1][behind]
        there = other[1][behind], other[1][ahead]
        if (there[0].p50 or 0.0) < (there[1].p50 or 0.0):
            yield Flip(ahead, behind, one[0], other[0], faster(*here) and faster(*there))


def _correlation(one: tuple[str, Rows], other: tuple[str, Rows]) -> Correlation:
    shared = [name for name in one[1] if name in other[1]]
    here, there = ([rows[name].p50 or 0.0 for name in shared] for _, rows in (one, other))
    if len(shared) < LEAST or len(set(here)) < 2 or len(set(there)) < 2:
        return Correlation(one[0], other[0], len(shared), None, None)
    from scipy import stats  # SciPy takes a second to import, and only a comparison of machines needs it

    spearman, kendall = stats.spearmanr(here, there).statistic, stats.kendalltau(here, there).statistic
    return Correlation(one[0], other[0], len(shared), float(spearman), float(kendall))
