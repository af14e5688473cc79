"""What is decided in a table, seen from its rounds so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hopmeter.model.cell import Cell
from hopmeter.statistics import Observation, Ranking, fit, is_precise, rounds_needed
from hopmeter.statistics.ranking import BEST

Question = frozenset[str]
"""The cells of a question: the two of a pair, or the one whose median is to be known, or that has requirements."""
Bounds = tuple[float | None, float | None, float | None]
IsJudged = Callable[[Cell, Bounds, float], bool]
"""Returns whether a cell meets or misses its requirements, at a level; its median comes with its 95 % interval."""


@dataclass(frozen=True)
class Answer:
    """The result of one look at a table."""

    asked: frozenset[Question]
    decided: frozenset[Question]
    needed: frozenset[str]
    """Cells that belong to every further round: the best one, and those without a result."""
    rounds: Mapping[Question, int] = field(default_factory=dict)
    """How many rounds each undecided pair would take, as far as that can be estimated."""


def look(cells: Sequence[Cell], observations: Iterable[Observation], until: str, alpha: float) -> Answer:
    """Look at a table at a level `alpha`; `until` is `order`, `best` or a precision such as `±5%`.

    Cells that are not ranked are in no question, unless no other cells are there.
    """
    ranked = {cell.id for cell in cells if cell.comparison.ranked} or {cell.id for cell in cells}
    result = fit([each for each in observations if each.cell in ranked], alpha, BEST if until == BEST else None)
    needed = frozenset(ranked - set(result.cells)) | ({result.best} if result.best else set())
    return _medians(result, needed, until) if until.startswith("±") else _pairs(cells, result, needed)


def look_at_requirements(
    cells: Sequence[Cell], observations: Iterable[Observation], is_judged: IsJudged, alpha: float
) -> Answer:
    """Look at the requirements of each cell that is ranked, at a level `alpha`."""
    ranked = [cell for cell in cells if cell.comparison.ranked] or list(cells)
    ids = {cell.id for cell in ranked}
    levels = fit([each for each in observations if each.cell in ids], alpha).levels
    unknown: Bounds = (None, None, None)
    judged = frozenset(Question({cell.id}) for cell in ranked if is_judged(cell, levels.get(cell.id, unknown), alpha))
    return Answer(frozenset(Question({cell.id}) for cell in ranked), judged, frozenset())


def _medians(result: Ranking, needed: frozenset[str], until: str) -> Answer:
    within = float(until[1:-1]) / 100
    precise = frozenset(Question({cell}) for cell in result.cells if is_precise(result, cell, within))
    return Answer(frozenset(Question({cell}) for cell in result.cells), precise, needed)


def _pairs(cells: Sequence[Cell], result: Ranking, needed: frozenset[str]) -> Answer:
    """Compare all pairs; in a run with two sides only the sides of each cell."""
    sides = {cell.id: cell.comparison.counterpart for cell in cells if cell.comparison.counterpart}
    asked = [pair for pair in result.pairs if not sides or sides.get(pair.a) == pair.b]
    rounds = {
        Question({pair.a, pair.b}): rounds_needed(result, pair.ratio or pair.difference or 0.0, pair.a, pair.b)
        for pair in asked
        if not pair.decided
    }
    return Answer(
        frozenset(Question({pair.a, pair.b}) for pair in asked),
        frozenset(Question({pair.a, pair.b}) for pair in asked if pair.decided),
        needed,
        {question: many for question, many in rounds.items() if many},
    )
