"""Find out which questions the rounds of a table have already answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hopmeter.analysis.ranking.ranked_cells import fit_table
from hopmeter.model.cell import Cell
from hopmeter.statistics import CellPair, Observation, Ranking, fit, is_precise, rounds_for_ratio
from hopmeter.statistics.families import CHOICES
from hopmeter.statistics.ranking import ALPHA, BEST

CLEAR = 1.5
"""A run with a budget first looks for differences between medians of at least this factor."""
Question = frozenset[str]
"""The two cells of a pair, or a single cell if its median or its requirements are in question."""
Bounds = tuple[float | None, float | None, float | None]
IsJudged = Callable[[Cell, Bounds, float], bool]
"""A function that returns whether a cell's trials are enough for a verdict on its requirements. The arguments are the
cell, its median with a 95 % interval, and the significance level."""


@dataclass(frozen=True)
class Answer:
    """The result of one interim analysis (look) of a table."""

    asked: frozenset[Question]
    decided: frozenset[Question]
    needed: frozenset[str]
    """The cells that every further round must include: the best cell, cells without a result, and references without a
    significant difference from the best cell."""
    needed_rounds: float | None = None
    """The estimated number of rounds that would make differences of the ratio `CLEAR` significant, or None if
    unknown."""


def look(cells: Sequence[Cell], observations: Iterable[Observation], until: str, alpha: float) -> Answer:
    """Analyse a table at the significance level `alpha`. `until` is the question to answer: `order`, `best` or a
    precision such as `±5%`.

    Unranked cells are ignored, unless no cell is ranked. References are still measured as long as they do not differ
    significantly from the best cell. Only the choices, not the references, determine how long the run lasts.
    """
    ranked = {cell.id for cell in cells if cell.comparison.ranked} or {cell.id for cell in cells}
    result = fit_table(cells, observations, alpha, BEST if until == BEST else None)
    needed = frozenset(ranked - set(result.cells)) | ({result.best} if result.best else set())
    if until.startswith("±"):
        return _medians(result, ranked & set(result.cells), needed, until)
    return _pairs(cells, result, needed | (_open_references(result) & ranked))


def _open_references(result: Ranking) -> set[str]:
    """Return the references that do not yet differ significantly from the best cell."""
    compared = [pair for pair in result.pairs if result.best in pair.cells and not pair.decided]
    return {cell for pair in compared for cell in pair.cells} - set(result.choices)


def look_at_requirements(
    cells: Sequence[Cell], observations: Iterable[Observation], is_judged: IsJudged, alpha: float
) -> Answer:
    """Check at the significance level `alpha` whether each ranked cell has a verdict on its requirements."""
    ranked = [cell for cell in cells if cell.comparison.ranked] or list(cells)
    ids = {cell.id for cell in ranked}
    levels = fit([each for each in observations if each.cell in ids], alpha).levels
    unknown: Bounds = (None, None, None)
    judged = frozenset(Question({cell.id}) for cell in ranked if is_judged(cell, levels.get(cell.id, unknown), alpha))
    return Answer(frozenset(Question({cell.id}) for cell in ranked), judged, frozenset())


def _medians(result: Ranking, asked: Iterable[str], needed: frozenset[str], until: str) -> Answer:
    within = float(until[1:-1]) / 100
    questions = {cell: Question({cell}) for cell in asked}
    precise = frozenset(question for cell, question in questions.items() if is_precise(result, cell, within))
    return Answer(frozenset(questions.values()), precise, needed)


def _pairs(cells: Sequence[Cell], result: Ranking, needed: frozenset[str]) -> Answer:
    asked = _asked_pairs(cells, result)
    decided = frozenset(pair.cells for pair in asked if pair.decided)
    still_open = [pair for pair in asked if not pair.decided]
    rounds = rounds_for_ratio(still_open, CLEAR, ALPHA / len(asked)) if asked else None
    return Answer(frozenset(pair.cells for pair in asked), decided, needed, rounds)


def _asked_pairs(cells: Sequence[Cell], result: Ranking) -> list[CellPair]:
    """Return the pairs to compare: all pairs of choices, or the two sides of each cell if the run compares two
    versions.

    If there is only one choice, it is compared with the references that the user named.
    """
    if sides := {cell.id: cell.comparison.counterpart for cell in cells if cell.comparison.counterpart}:
        return [pair for pair in result.pairs if sides.get(pair.a) == pair.b]
    if len(result.choices) > 1:
        return [pair for pair in result.pairs if pair.family == CHOICES]
    ranked = {cell.id for cell in cells if cell.comparison.ranked}
    return [pair for pair in result.pairs if result.best in pair.cells and pair.cells <= ranked]
