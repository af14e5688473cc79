"""Compare the cells of each table by the medians of their trials, round by round."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from hopmeter.analysis.latency.clock_claims import claim_ranking
from hopmeter.analysis.ranking.ranked_cells import fit_table
from hopmeter.model.cell import Cell
from hopmeter.statistics import CellPair, Observation, Ranking, level_of_result, retain_decisions
from hopmeter.statistics.ranking import BEST

Values = Mapping[str, Any]
Bounds = tuple[float | None, float | None, float | None]
UNKNOWN: Bounds = (None, None, None)


@dataclass(frozen=True)
class Comparison:
    """The ratio of two cells' medians, `b` divided by `a`, with its confidence interval. The ratio and its bounds are
    None if they are unknown."""

    a: str
    b: str
    ratio: float | None
    low: float | None
    high: float | None
    decided: bool
    family: str = "choices"
    """The family with which the pair shares a significance level: `references` if either cell is a reference, otherwise
    `choices`."""
    stopped_early: bool = False
    """Whether the significant difference and the interval come from an earlier look."""

    @property
    def bounds(self) -> Bounds:
        """The ratio with its confidence interval: (ratio, low, high)."""
        return self.ratio, self.low, self.high

    def swap(self) -> Comparison:
        """Return the comparison with `a` and `b` swapped."""
        turned = [None if each is None else 1 / each for each in (self.ratio, self.high, self.low)]
        return replace(self, a=self.b, b=self.a, ratio=turned[0], low=turned[1], high=turned[2])


@dataclass(frozen=True)
class TableRanking:
    """The ranking of one table, and the floor of each cell."""

    group: str
    ranking: Ranking
    floors: Mapping[str, str] = field(default_factory=dict)
    """Maps each cell to the id of its floor."""

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All compared pairs. In each compared pair, `a` is the faster cell."""
        return [_compare(self.ranking, each) for each in self.ranking.pairs]

    def compare(self, a: str, b: str) -> Comparison | None:
        """Return the comparison of the cell `b` with `a`, or None if the two cells were not compared."""
        for each in self.comparisons:
            if (each.a, each.b) == (a, b):
                return each
            if (each.a, each.b) == (b, a):
                return each.swap()
        return None

    def is_faster(self, a: str, b: str) -> bool:
        """Return whether `a` is significantly faster than `b`."""
        return any(each.decided and (each.a, each.b) == (a, b) for each in self.comparisons)

    def columns(self, cell: str) -> dict[str, Any]:
        """Return the ranking columns of one cell, or no columns if the cell was not compared. A reference has no
        rank."""
        if cell not in self.ranking.cells:
            return {}
        low, high = self.ranking.ranks.get(cell, (None, None))
        best = self.compare(self.ranking.best, cell) if self.ranking.best else None
        return {
            "rank_low": low,
            "rank_high": high,
            "rounds": self.ranking.rounds[cell],
            "stopped_early": best is not None and best.stopped_early,
            **_bound_columns("ratio_to_best", self._ratio(self.ranking.best, cell)),
            **_bound_columns("median", self.ranking.levels[cell], "_us"),
            **self.floor_columns(cell),
        }

    def floor_columns(self, cell: str) -> dict[str, Any]:
        """Return the `times_floor` columns, or no columns unless both the cell and its floor were compared."""
        floor = self.floors.get(cell)
        known = floor is not None and {floor, cell} <= set(self.ranking.cells)
        return _bound_columns("times_floor", self._ratio(floor, cell)) if known else {}

    def _ratio(self, a: str | None, b: str) -> Bounds:
        if a is None or self.ranking.scale != "ratio":
            return UNKNOWN
        if a == b:
            return (1.0, 1.0, 1.0)
        compared = self.compare(a, b)
        return compared.bounds if compared else (self.ranking.distance(a, b), None, None)


def _compare(ranking: Ranking, pair: CellPair) -> Comparison:
    """Convert a fitted pair to a comparison that shows the ratio of the two medians in the table.

    In a small table each pair is fitted separately, so the estimate for the pair may differ slightly from the ratio of
    the two medians.
    """
    if pair.ratio is None:
        return Comparison(pair.a, pair.b, None, None, None, pair.decided, pair.family, pair.stopped_early)
    ratio = ranking.distance(pair.a, pair.b)
    if pair.low is not None and pair.high is not None:
        ratio = min(max(ratio, pair.low), pair.high)
    found = Comparison(pair.a, pair.b, ratio, pair.low, pair.high, pair.decided, pair.family, pair.stopped_early)
    return found.swap() if ratio < 1 else found


def _bound_columns(name: str, bounds: Bounds, unit: str = "") -> dict[str, Any]:
    ends = zip(("", "_low", "_high"), bounds, strict=True)
    return {f"{name}{end}{unit}": value if value is None or math.isfinite(value) else None for end, value in ends}


def rank_tables(
    cells: Iterable[Cell],
    rows: Mapping[str, Values],
    trials: Sequence[Values],
    looks: Mapping[str, Any],
    until: str | None = None,
) -> dict[str, TableRanking]:
    """Return the ranking of each table, keyed by table id. `trials` must contain `median_us`; `rows` maps cells to
    their results.

    In a run with a budget, `looks` contains the interim analyses (looks) of each table, and `until` is the run's
    question. Older versions of hopmeter did not record rounds. Without recorded rounds, a trial's number is its round
    if every round covered all cells before the next round began; otherwise, the run has no ranking. `rank_rates` ranks
    the steps of repeated searches.
    """
    tables: dict[str, list[Cell]] = {}
    observed, good = _observations(trials), dict[str, list[Observation]]()
    for cell in cells:
        if not cell.dropped and not cell.comparison.alone and cell.comparison.search_round is None:
            tables.setdefault(cell.group, []).append(cell)
            good[cell.id] = observed.get(cell.id, []) if rows[cell.id]["status"] == "ok" else []
    versus = BEST if until == BEST else None
    found = {group: _rank_table(group, table, good, looks.get(group) or [], versus) for group, table in tables.items()}
    found = {group: replace(each, ranking=claim_ranking(each.ranking, rows)) for group, each in found.items()}
    return {group: ranking for group, ranking in found.items() if ranking.ranking.cells}


def _rank_table(
    group: str,
    cells: Sequence[Cell],
    observed: Mapping[str, list[Observation]],
    looks: Sequence[Mapping[str, Any]],
    versus: str | None,
) -> TableRanking:
    """Rank a table. In a run with a budget, all interim analyses (looks) are repeated, because a decision of an earlier
    look is final."""
    seen = [each for cell in cells for each in observed[cell.id]]
    rounds = max(len(observed[cell.id]) for cell in cells)
    rankings = [_repeat_look(cells, seen, each, versus) for each in looks]
    ranking, *later = [*rankings, fit_table(cells, seen, level_of_result(looks, rounds))]
    for each in later:
        ranking = retain_decisions(ranking, each)
    return TableRanking(group, ranking, {cell.id: cell.comparison.floor for cell in cells if cell.comparison.floor})


def _repeat_look(
    cells: Sequence[Cell], seen: Iterable[Observation], look: Mapping[str, Any], versus: str | None
) -> Ranking:
    """Repeat an interim analysis (look) with the rounds that were finished at that time. Runs of old versions did not
    store `last_round`."""
    last = look.get("last_round", look["rounds"] - 1)
    return fit_table(cells, [each for each in seen if each.round <= last], look["alpha"], versus)


def _observations(trials: Sequence[Values]) -> dict[str, list[Observation]]:
    """Return the good trials of each cell as observations. Return an empty dict if the rounds are unknown."""
    rounds = round_numbers(trials)
    found: dict[str, list[Observation]] = {}
    for trial in trials:
        number, value = rounds.get((trial["cell"], trial["trial"])), trial.get("median_us")
        if trial["good"] and number is not None and value is not None:
            seen = Observation(trial["cell"], number, value, trial.get("steal_share"))
            found.setdefault(trial["cell"], []).append(seen)
    return found


def round_numbers(trials: Sequence[Values]) -> dict[tuple[str, int], int | None]:
    """Return the round of each trial.

    Older versions of hopmeter did not record rounds. Without recorded rounds, a trial's number is its round if every
    round covered all cells before the next round began; otherwise, the dict is empty.
    """
    if any(trial.get("round") is not None for trial in trials):
        return {(trial["cell"], trial["trial"]): trial.get("round") for trial in trials}
    ordered = sorted(trials, key=lambda trial: trial["order"])
    if any(one["trial"] > other["trial"] for one, other in pairwise(ordered)):
        return {}
    return {(trial["cell"], trial["trial"]): trial["trial"] for trial in trials}
