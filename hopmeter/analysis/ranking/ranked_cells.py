"""Select the ranked cells of a table, and fit one model to the whole table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hopmeter.model.cell import Cell
from hopmeter.statistics import Observation, Ranking, fit
from hopmeter.statistics.ranking import ALPHA


def choices(cells: Iterable[Cell]) -> list[Cell]:
    """Return the ranked cells of a table: the transports that a user can install.

    If a table has no installable transport, the references that the user named are ranked. `synthetic` and the floors
    that the planner added are never ranked.
    """
    ranked = [cell for cell in cells if cell.comparison.ranked]
    return [cell for cell in ranked if cell.comparison.installable] or ranked


def fit_table(
    cells: Sequence[Cell], observations: Iterable[Observation], alpha: float = ALPHA, versus: str | None = None
) -> Ranking:
    """Fit one statistical model to the trials of all choices and references of a table."""
    chosen = {cell.id for cell in choices(cells)}
    return fit(observations, alpha, versus, {cell.id for cell in cells} - chosen)
