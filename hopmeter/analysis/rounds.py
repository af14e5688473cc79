"""The cells of each table, compared by rounds: the trials' medians of the latency that ranks them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from hopmeter.model.cell import Cell
from hopmeter.statistics import Observation, Ranking, fit, level_of_result
from hopmeter.statistics.ranking import rank_ranges

Values = Mapping[str, Any]
Bounds = tuple[float | None, float | None, float | None]
UNKNOWN: Bounds = (None, None, None)


@dataclass(frozen=True)
class Comparison:
    """Two cells of a table: the latency of `b` divided by that of `a`, with its interval; None if it is unknown."""

    a: str
    b: str
    ratio: float | None
    low: float | None
    high: float | None
    decided: bool

    def swap(self) -> Comparison:
        """Return the comparison of `a` with `b`."""
        turned = [None if each is None else 1 / each for each in (self.ratio, self.high, self.low)]
        return Comparison(self.b, self.a, turned[0], turned[1], turned[2], self.decided)


@dataclass(frozen=True)
class TableRanking:
    """What the rounds say about the cells of one table."""

    group: str
    ranking: Ranking
    decided_before: frozenset[frozenset[str]] = frozenset()
    """The pairs that earlier looks at a run with a budget decided; they stay decided."""
    to_floor: Mapping[str, Bounds] = field(default_factory=dict)
    """The ratio of each cell to its floor."""
    floor_levels: Mapping[str, Bounds] = field(default_factory=dict)
    """The level of each floor that is not among the compared cells."""

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every pair; `a` is the faster one by estimate."""
        return [
            Comparison(each.a, each.b, each.ratio, each.low, each.high, self._is_decided(each.a, each.b, each.decided))
            if each.ratio is not None
            else Comparison(each.a, each.b, None, None, None, each.decided)
            for each in self.ranking.pairs
        ]

    def _is_decided(self, a: str, b: str, decided: bool) -> bool:
        return decided or frozenset((a, b)) in self.decided_before

    def compare(self, a: str, b: str) -> Comparison | None:
        """Return the comparison of `b` with `a`; None if they were not compared."""
        for each in self.comparisons:
            if (each.a, each.b) == (a, b):
                return each
            if (each.a, each.b) == (b, a):
                return each.swap()
        return None

    def is_faster(self, a: str, b: str) -> bool:
        """Whether `a` is significantly faster than `b`."""
        return any(each.decided and (each.a, each.b) == (a, b) for each in self.comparisons)

    def ranks(self) -> dict[str, tuple[int, int]]:
        """Return the first and the last rank that each cell may have; 1 is the fastest."""
        return rank_ranges(self.ranking.cells, [(each.a, each.b) for each in self.comparisons if each.decided])

    def columns(self, cell: str) -> dict[str, Any]:
        """Return the columns of one cell; of a floor only its median, and none of other cells that are not compared."""
        if cell not in self.ranking.cells:
            return _bound_columns("median", self.floor_levels[cell], "_us") if cell in self.floor_levels else {}
        low, high = self.ranks()[cell]
        to_best = self.ranking.ratio_to_best[cell] if self.ranking.scale == "ratio" else UNKNOWN
        return {
            "rank_low": low,
            "rank_high": high,
            "rounds": self.ranking.rounds[cell],
            **_bound_columns("ratio_to_best", to_best),
            **_bound_columns("median", self.ranking.levels[cell], "_us"),
            **self.floor_columns(cell),
        }

    def floor_columns(self, cell: str) -> dict[str, Any]:
        """Return the multiple of the floor; empty without one."""
        return _bound_columns("times_floor", self.to_floor[cell]) if cell in self.to_floor else {}


def _bound_columns(name: str, bounds: Bounds, unit: str = "") -> dict[str, Any]:
    ends = zip(("", "_low", "_high"), bounds, strict=True)
    return {f"{name}{end}{unit}": value if value is None or math.isfinite(value) else None for end, value in ends}


def rank_tables(
    cells: Iterable[Cell], rows: Mapping[str, Values], trials: Sequence[Values], looks: Mapping[str, Any]
) -> dict[str, TableRanking]:
    """Return the ranking of each table by its id. `trials` have their `median_us`; `rows` are the results by cell.

    A run of an earlier version without rounds has none, unless its trials were executed in rounds of the whole run.
    """
    tables: dict[str, list[Cell]] = {}
    for cell in cells:
        if not cell.dropped and rows[cell.id]["status"] == "ok":
            tables.setdefault(cell.group, []).append(cell)
    observed = _observations(trials)
    found = {group: _rank_table(group, table, observed, looks.get(group) or []) for group, table in tables.items()}
    return {group: ranking for group, ranking in found.items() if ranking.ranking.cells}


def _rank_table(
    group: str, cells: Sequence[Cell], observed: Mapping[str, list[Observation]], looks: Sequence[Mapping[str, Any]]
) -> TableRanking:
    """Rank the candidates of a table. A look at a run with a budget has paid for its own level only."""
    floors = {cell.comparison.floor for cell in cells}
    names = [cell.id for cell in cells if cell.comparison.ranked] or [
        cell.id for cell in cells if cell.id not in floors
    ]
    decided = frozenset(frozenset(pair) for each in looks for pair in each.get("decided", ()))
    alpha = level_of_result(looks, max((len(observed.get(name, ())) for name in names), default=0))
    ranking = fit(_of(observed, names), alpha)
    return TableRanking(group, ranking, decided, *_to_floors(cells, ranking, observed))


def _of(observed: Mapping[str, list[Observation]], cells: Iterable[str]) -> list[Observation]:
    return [each for cell in cells for each in observed.get(cell, ())]


def _to_floors(
    cells: Sequence[Cell], ranking: Ranking, observed: Mapping[str, list[Observation]]
) -> tuple[dict[str, Bounds], dict[str, Bounds]]:
    """Return the ratio of each cell to its floor, and the level of each floor that is no candidate.

    Such a floor has a fit of its own with its cells.
    """
    ratios: dict[str, Bounds] = {}
    levels: dict[str, Bounds] = {}
    for floor in dict.fromkeys(filter(None, (cell.comparison.floor for cell in cells))):
        own = [cell.id for cell in cells if cell.comparison.floor == floor]
        others = [cell for cell in own if cell not in ranking.cells or floor not in ranking.cells]
        ratios |= _to_floor(ranking, floor, [cell for cell in own if cell not in others])
        apart = fit(_of(observed, dict.fromkeys([*others, floor])), versus=floor)
        ratios |= _to_floor(apart, floor, others)
        if floor not in ranking.cells and floor in apart.cells:
            levels[floor] = apart.levels[floor]
    return ratios, levels


def _to_floor(ranking: Ranking, floor: str, cells: Sequence[str]) -> dict[str, Bounds]:
    if floor not in ranking.cells or ranking.scale != "ratio":
        return {}
    return {cell: _ratio(ranking, floor, cell) for cell in cells if cell in ranking.cells}


def _ratio(ranking: Ranking, a: str, b: str) -> Bounds:
    if a == b:
        return (1.0, 1.0, 1.0)
    compared = TableRanking("", ranking).compare(a, b)
    if compared is None:
        return (ranking.levels[b][0] / ranking.levels[a][0], None, None)
    return (compared.ratio, compared.low, compared.high)


def _observations(trials: Sequence[Values]) -> dict[str, list[Observation]]:
    """Return the good trials of each cell; empty if the rounds are unknown."""
    rounds = _rounds(trials)
    found: dict[str, list[Observation]] = {}
    for trial in trials:
        number, value = rounds.get((trial["cell"], trial["trial"])), trial.get("median_us")
        if trial["good"] and number is not None and value is not None:
            seen = Observation(trial["cell"], number, value, trial.get("steal_share"))
            found.setdefault(trial["cell"], []).append(seen)
    return found


def _rounds(trials: Sequence[Values]) -> dict[tuple[str, int], int | None]:
    """Return the round of each trial: its number in a run of an earlier version whose rounds were of the whole run."""
    if any(trial.get("round") is not None for trial in trials):
        return {(trial["cell"], trial["trial"]): trial.get("round") for trial in trials}
    ordered = sorted(trials, key=lambda trial: trial["order"])
    if any(one["trial"] > other["trial"] for one, other in pairwise(ordered)):
        return {}
    return {(trial["cell"], trial["trial"]): trial["trial"] for trial in trials}
