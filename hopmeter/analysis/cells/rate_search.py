"""Judge the steps of a search for the highest sustainable rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hopmeter.analysis.cells.cell import analyse
from hopmeter.messages import tag
from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.plan.search import bracket, further, next_rate
from hopmeter.scenario import Scenario
from hopmeter.scenario.search import Search
from hopmeter.store.run_folder import RunFolder

Row = Mapping[str, Any]


def why_not(row: Row, search: Search) -> str:
    """Return why the transport did not sustain a rate, or an empty string if the rate was sustained."""
    if row["status"] != "ok":
        return str(row["reason"] or row["status"])
    if row["trials_good"] < row["trials"]:
        return str(row["reason"])
    if row["lost"]:
        return tag("W-SEARCH-LOSS", f"{row['lost']} of {row['lost'] + row['received']} messages were lost")
    # If there are too few messages for a p99, the maximum latency must stay within the search's latency bound.
    name = "p99" if row["response_p99_us"] is not None else "max"
    took, error = row[f"response_{name}_us"], row.get("clock_uncertainty_us") or 0.0
    if took is None:
        return tag("W-SEARCH-LATE", "nothing arrived")
    if took + error > search.bound_us:
        known = f", known to ±{error:.3g} us between the clocks of the hosts" if error else ""
        return tag("W-SEARCH-LATE", f"{name} was {took:.4g} us{known}")
    return ""


class Hunt:
    """The rate searches of a run in progress. In a run with a time budget, searches stop when the next step would
    exceed the budget."""

    def __init__(
        self, scenario: Scenario, search: Search, folder: RunFolder, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._scenario, self._search, self._folder = scenario, search, folder
        self._rows: dict[str, Row] = {}
        self._clock, self._step_began = clock, clock()
        self._ends = self._step_began + units.seconds(scenario.budget) if scenario.budget else math.inf

    def next_cells(self) -> list[Cell]:
        """Return the next step of each unfinished search. Return an empty list if less time remains than the previous
        step took."""
        now = self._clock()
        step_s, self._step_began = now - self._step_began, now
        if now + step_s > self._ends:
            return []
        found = (self._next(steps) for steps in by_search(self._folder.cells).values())
        return [cell for cell in found if cell]

    def _next(self, steps: Sequence[Cell]) -> Cell | None:
        rows = [self._row(step) for step in steps]
        held = {step.axes.rate_hz or 0.0: not why_not(row, self._search) for step, row in zip(steps, rows, strict=True)}
        if not any(held.values()) and rows[-1]["status"] == "failed":
            return None  # the failure does not depend on the rate, so a lower rate would fail too
        rate = next_rate(self._search, held)
        return None if rate is None else further(self._scenario, steps, rate)

    def _row(self, cell: Cell) -> Row:
        if cell.id not in self._rows:
            self._rows[cell.id] = analyse(cell, self._folder.trials_of(cell.id), self._folder)
        return self._rows[cell.id]


def by_search(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Return the steps of each search, in execution order."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.comparison.search and not cell.dropped:
            found.setdefault(cell.comparison.search, []).append(cell)
    return found


def set_highest(search: Search, cells: Iterable[Cell], rows: Iterable[dict[str, Any]]) -> None:
    """Fill in `search_failed`, `highest_rate_hz` and `lowest_failing_hz` in every row of each search."""
    by_id = {row["cell"]: row for row in rows}
    for steps in by_search(cells).values():
        own = [by_id[step.id] for step in steps if by_id[step.id]["status"] != "dropped"]
        for row in own:
            row["search_failed"] = why_not(row, search) or None
        found = bracket({row["rate_hz"]: row["search_failed"] is None for row in own})
        for row in own:
            row["highest_rate_hz"], row["lowest_failing_hz"] = found.holds_hz, found.fails_hz
