"""Judge the steps of a search for the highest sustainable rate."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hopmeter.analysis.cells.cell import analyse
from hopmeter.analysis.cells.throughput import flood_hz
from hopmeter.analysis.ranking.rates import rates_by_round
from hopmeter.messages import tag
from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.plan.search import (
    AFTER_FLOOD,
    bracket,
    first_rate,
    further,
    next_rate,
    next_rate_in_round,
)
from hopmeter.scenario import Scenario
from hopmeter.scenario.requirement import LATENCIES, Requirement, parse
from hopmeter.scenario.search import Search
from hopmeter.store.run_folder import RunFolder

Row = Mapping[str, Any]
HOPELESS = 6
"""After this many failed trials, a search in which no rate held is abandoned. With the factor 1.2, the sixth rate is
1/285 of the first."""
MOST_LAG = 0.03
"""The largest lag (`lag_share`) of a rate that a transport keeps up with. With a smaller limit, short interruptions by
other programs would count as overload."""


def limits_of(search: Search, require: Iterable[str]) -> list[Requirement]:
    """Return the limits that a sustainable rate must keep: the requirements of the scenario, and the search's
    `bound_p99`."""
    known = [parse(each) for each in require]
    if search.bound_us is not None:
        known.append(Requirement(f"p99 <= {search.bound_p99}", "p99", search.bound_us, inclusive=True))
    return known


def why_not(row: Row, limits: Sequence[Requirement]) -> str:
    """Return why the transport did not sustain a rate, or an empty string if the rate was sustained. Unless a limit on
    lost messages is set, a single lost message means that the rate was not sustained.

    In a repeated search, messages may wait in a queue as long as the queue does not grow.
    """
    repeated = row.get("search_round") is not None
    if row["status"] != "ok" and not (repeated and row["status"] == "saturated"):
        return str(row["reason"] or row["status"])
    if row["trials_good"] < row["trials"]:
        return str(row["reason"])
    lossless = [] if any(each.metric == "lost" for each in limits) else [parse("lost = 0")]
    delay = _delay(row) if repeated else ""
    found = [*(_miss(row, each) for each in lossless), delay, *(_miss(row, each) for each in limits)]
    return next(filter(None, found), "")


def _delay(row: Row) -> str:
    """Return how far the source or the messages fell behind schedule, or an empty string if they kept up."""
    if row["lag_share"] is None or row["lag_share"] <= MOST_LAG:
        return ""
    sent, due = row["achieved_hz"] or 0.0, row["rate_hz"]
    if sent < due / (1 + MOST_LAG):
        return tag("W-SEARCH-BEHIND", f"the source reached {sent:.4g} of {due:.4g} Hz")
    return tag("W-SEARCH-QUEUE", f"messages arrived at {due / (1 + row['lag_share']):.4g} of {due:.4g} Hz")


def _miss(row: Row, limit: Requirement) -> str:
    """Return why a row exceeds a limit, or an empty string if the row keeps the limit."""
    if limit.metric in LATENCIES.values():
        return _latency_miss(row, limit)
    if limit.metric == "lost":
        total = row["lost"] + row["received"]
        share = row["lost"] / total if total else 0.0
        said = f"{row['lost']} of {total} messages were lost"
        return "" if limit.is_met(share) else tag("W-SEARCH-LOSS", said)
    used = row["cpu_core_percent"] if limit.metric == "cpu" else None
    return "" if used is None or limit.is_met(used) else tag("W-SEARCH-CPU", f"CPU was {used:.3g} % of a core")


def _latency_miss(row: Row, limit: Requirement) -> str:
    """Return why a percentile exceeds its limit, or an empty string if the percentile keeps its limit. If the trial has
    too few messages for the percentile, the maximum latency must stay within the limit."""
    name = limit.metric if row[f"response_{limit.metric}_us"] is not None else "max"
    took, error = row[f"response_{name}_us"], row.get("clock_uncertainty_us") or 0.0
    if took is None:
        return tag("W-SEARCH-LATE", "nothing arrived")
    if limit.is_met(took + error):
        return ""
    known = f", known to ±{error:.3g} us between the clocks of the hosts" if error else ""
    return tag("W-SEARCH-LATE", f"{name} was {took:.4g} us{known}")


class Hunt:
    """The rate searches of a run in progress. In a run with a time budget, searches stop when the next step would
    exceed the budget."""

    def __init__(
        self, scenario: Scenario, search: Search, folder: RunFolder, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._scenario, self._search, self._folder = scenario, search, folder
        self._limits = limits_of(search, scenario.require)
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
        every = by_search(self._folder.cells).values()
        if self._search.rounds:
            return self._next_in_rounds(list(every), self._search.rounds)
        return [cell for steps in every if (cell := self._next(steps))]

    def _next_in_rounds(self, every: Sequence[Sequence[Cell]], rounds: int) -> list[Cell]:
        """Return the next step of each search in the first unfinished round, in random order. A round begins when all
        searches have finished the previous round."""
        for number in range(1, rounds + 1):
            if found := [cell for steps in every if (cell := self._next_of_round(steps, number))]:
                random.Random(f"{self._seed} {len(self._folder.cells)}").shuffle(found)
                return found
        return []

    def _next_of_round(self, steps: Sequence[Cell], number: int) -> Cell | None:
        """Return the next step of a search in a round, or None if the search has finished the round or cannot find a
        sustainable rate."""
        rows = {step.id: self._judged_row(step) for step in steps}
        held = {
            row["rate_hz"]: row["search_failed"] is None
            for step, row in zip(steps, rows.values(), strict=True)
            if step.comparison.search_round == number
        }
        if number > 1 and not rates_by_round(steps, rows):
            return None  # the first round found no rate, so the next rounds would not find one either
        if sum(row["status"] == "failed" for row in rows.values()) >= HOPELESS and not any(held.values()):
            return None  # the failure does not depend on the rate
        first = first_rate(self._search, self._near_hz(steps, rows), f"{self._seed} {steps[0].id} {number}")
        rate = next_rate_in_round(self._search, first, held)
        return None if rate is None else further(self._scenario, steps, rate, number)

    def _near_hz(self, steps: Sequence[Cell], rows: Mapping[str, Row]) -> float:
        """Return a rate near the expected result of a search: the result of the last finished round or, before any
        round is finished, an estimate from the flood."""
        if found := rates_by_round(steps, rows):
            return found[max(found)]
        flood = flood_hz(rows[steps[0].id])
        return flood * AFTER_FLOOD if flood else self._search.start

    @property
    def _seed(self) -> int:
        return int(self._folder.about.get("seed", 0))

    def _judged_row(self, cell: Cell) -> Row:
        row = self._row(cell)
        return {**row, "search_failed": why_not(row, self._limits) or None}

    def _next(self, steps: Sequence[Cell]) -> Cell | None:
        rows = [self._row(step) for step in steps]
        held = {step.axes.rate_hz or 0.0: not why_not(row, self._limits) for step, row in zip(steps, rows, strict=True)}
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


def set_highest(search: Search, require: Iterable[str], cells: Iterable[Cell], rows: Iterable[dict[str, Any]]) -> None:
    """Fill in `search_failed`, `highest_rate_hz` and `lowest_failing_hz` in every row of each search."""
    by_id, limits = {row["cell"]: row for row in rows}, limits_of(search, require)
    for steps in by_search(cells).values():
        own = [by_id[step.id] for step in steps if by_id[step.id]["status"] != "dropped"]
        at_rates = [row for row in own if row["rate_hz"]]
        for row in at_rates:
            row["search_failed"] = why_not(row, limits) or None
        found = bracket({row["rate_hz"]: row["search_failed"] is None for row in at_rates})
        for row in own:
            row["highest_rate_hz"], row["lowest_failing_hz"] = found.holds_hz, found.fails_hz
