"""Several machines side by side: does the order of the rows carry over from one to the next?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hopmeter.report import formatting, hosts
from hopmeter.report.grouping import CONDITIONS, Group
from hopmeter.report.ranking import bounds, faster, places
from hopmeter.report.source import Row, Run

LEAST = 3
"""Fewer rows have no correlation worth a number."""
FACTS = (("distribution", "System"), ("kernel", "Kernel"), ("container", "Container"), ("virtualisation", "Virtual"))


@dataclass(frozen=True)
class Flip:
    """Two rows that stand in one order here and in the other there."""

    one: str
    other: str
    first: str
    """The machine on which `one` is faster."""
    second: str
    resolved: bool
    """Whether the intervals of both machines settle it; else it may be chance."""


@dataclass(frozen=True)
class Correlation:
    """How alike two machines order the rows that both have; None with too few, or where all are tied."""

    first: str
    second: str
    rows: int
    spearman: float | None
    kendall: float | None


@dataclass(frozen=True)
class Line:
    """A row on every machine."""

    name: str
    cells: list[tuple[str, str, str]]
    """For each machine place, p50 and its interval; empty where it was not measured."""
    flips: str


@dataclass(frozen=True)
class Comparison:
    """The same conditions on several machines."""

    title: str
    machines: list[str]
    lines: list[Line]
    correlations: list[Correlation]
    flips: list[Flip]


def about(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Each machine with its system, kernel and container, and the runs that it made."""
    named = hosts.names(runs)
    found = []
    for alike in hosts.hosts(runs).values():
        known = alike[0].part("machine")
        facts = {title: str(known.get(key) or "unknown") for key, title in FACTS}
        name = named.get(id(alike[0]), "")
        found.append({"Machine": name, **facts, "Runs": formatting.listed([run.name for run in alike])})
    return found


def side_by_side(groups: Sequence[Group]) -> list[Comparison]:
    """Every set of conditions that two machines or more have rows for."""
    alike: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        if group.machine and group.ranked:
            alike.setdefault(tuple(group.conditions[key] for key in CONDITIONS), []).append(group)
    return [_compared(family) for family in alike.values() if len(family) > 1]


def _compared(family: Sequence[Group]) -> Comparison:
    rows = [_rows(group) for group in family]
    machines = [group.machine for group in family]
    flips = [flip for one, other in combinations(zip(machines, rows, strict=True), 2) for flip in _flips(one, other)]
    pairs = combinations(zip(machines, rows, strict=True), 2)
    return Comparison(
        family[0].title.removesuffix(f", {machines[0]}"),
        machines,
        _lines(family, rows, flips),
        [_correlation(one, other) for one, other in pairs],
        flips,
    )


Rows = dict[str, Row]
"""By the name that a row has on every machine."""
Machine = tuple[str, Rows]


def _rows(group: Group) -> Rows:
    """Fastest first; of several runs of one machine the first one's."""
    found: Rows = {}
    for row in group.ranked:
        parts = [str(row["transport"]), f"({row['language']})", str(row["profile"] or "")]
        found.setdefault(" ".join(filter(None, parts)), row)
    return found


def _flips(one: Machine, other: Machine) -> Iterator[Flip]:
    shared = [name for name in one[1] if name in other[1]]
    for ahead, behind in combinations(shared, 2):
        here = one[1][ahead], one[1][behind]
        there = other[1][behind], other[1][ahead]
        if (there[0].p50 or 0.0) < (there[1].p50 or 0.0):
            yield Flip(ahead, behind, one[0], other[0], faster(*here) and faster(*there))


def _correlation(one: Machine, other: Machine) -> Correlation:
    shared = [name for name in one[1] if name in other[1]]
    here, there = ([rows[name].p50 or 0.0 for name in shared] for _, rows in (one, other))
    if len(shared) < LEAST or len(set(here)) < 2 or len(set(there)) < 2:
        return Correlation(one[0], other[0], len(shared), None, None)
    from scipy import stats  # takes a second to load, and only several machines need it

    spearman, kendall = stats.spearmanr(here, there).statistic, stats.kendalltau(here, there).statistic
    return Correlation(one[0], other[0], len(shared), float(spearman), float(kendall))


def _lines(family: Sequence[Group], rows: Sequence[Rows], flips: Sequence[Flip]) -> list[Line]:
    known = [{id(place.row): place.text for place in places(group)} for group in family]
    return [
        Line(
            name,
            [_cell(own.get(name), taken) for own, taken in zip(rows, known, strict=True)],
            _flipped(name, flips),
        )
        for name in formatting.distinct(name for own in rows for name in own)
    ]


def _cell(row: Row | None, taken: dict[int, str]) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    return taken.get(id(row), ""), formatting.number(row.p50), formatting.interval(*(bounds(row) or (None, None)))


def _flipped(name: str, flips: Sequence[Flip]) -> str:
    """With whom a row changes places: for certain, and perhaps."""
    said = []
    for resolved, word in ((True, "flips with"), (False, "may flip with")):
        own = [each for each in flips if each.resolved == resolved and name in (each.one, each.other)]
        if names := formatting.distinct(each.other if each.one == name else each.one for each in own):
            said.append(f"{word} {formatting.listed(names)}")
    return "; ".join(said)


def summary(compared: Comparison) -> list[str]:
    """The correlations and the flips in words."""
    flips = [
        f"{flip.one} is faster than {flip.other} on {flip.first}, and slower on {flip.second}."
        for flip in compared.flips
        if flip.resolved
    ]
    return [*map(_said, compared.correlations), *flips]


def _said(each: Correlation) -> str:
    between = f"{each.first} and {each.second}"
    if each.spearman is None or each.kendall is None:
        return f"{between} share {formatting.plural(each.rows, 'row')}: too few for a correlation."
    return (
        f"{between}: rank correlation over {formatting.plural(each.rows, 'row')} "
        f"ρ = {each.spearman:.2f} (Spearman), τ = {each.kendall:.2f} (Kendall)."
    )
