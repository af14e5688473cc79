"""Decide which table a run with a time budget measures next.

The rounds alternate between the tables until every question is answered or the time is used up.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from statistics import fmean, median
from typing import Any

from hopmeter.analysis.budget.budgeted_table import UNITS, Table, table_of
from hopmeter.analysis.budget.candidates import InQuestion
from hopmeter.analysis.cells.trial_percentiles import Value
from hopmeter.analysis.ranking.open_questions import Answer, IsJudged, look, look_at_requirements
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.budget import trial_s
from hopmeter.plan.make import Plan
from hopmeter.runtime.executor import HOPELESS
from hopmeter.runtime.order import PlannedTrial, begun_rounds, shuffle, tables
from hopmeter.scenario.resolve import decision
from hopmeter.statistics import Observation, is_beyond_use, spend
from hopmeter.system import humanize

LOOKS = 1.6
"""The number of rounds grows by this factor between interim analyses ("looks"). There are few looks, because each look
uses up part of the significance level."""
LAST_SHARE = 0.85
"""Once this share of the rounds that fit into the budget is done, only the final look follows."""


class BudgetedRounds:
    """Plans a run that has a time budget, one measurement round at a time."""

    def __init__(
        self,
        plan: Plan,
        done: Sequence[TrialResult],
        value: Value,
        looks: Mapping[str, list[dict[str, Any]]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        is_judged: IsJudged | None = None,
        in_question: InQuestion | None = None,
    ) -> None:
        """Create the planner. To resume an interrupted run, pass its finished trials as `done` and its interim analyses
        as `looks`.

        `in_question` tells which transports may still be the best for a workload; only over these transports are the
        workload's flows also measured on their own. If `in_question` is None, flows are measured on their own over
        every transport.
        """
        self.budget_s = plan.scenario.budget_s or 0.0
        self.until = decision(plan.scenario.until, plan.scenario.require)
        self._value, self._clock = value, clock
        self._is_judged = is_judged if self.until == "require" else None
        self._in_question = in_question
        self._draw = random.Random(plan.seed + len(done))
        self._order = count(max((each.order for each in done), default=-1) + 1)
        self._took: dict[str, list[float]] = {}
        self._trials: Counter[str] = Counter()
        self._good: Counter[str] = Counter()
        self._seen: dict[str, list[Observation]] = {}
        self._steal: list[float] = []
        self._disturbed: dict[str, int] = {}
        self._cells = {cell.id: cell for cell in plan.runnable}
        self._tables = [table_of(plan, self.until, *each) for each in tables(plan.runnable).items()]
        self._used_before_s = sum(each.wall_s for each in done)
        self._began: float | None = None
        for result in done:
            self.note(result)
        self._disturbed.clear()
        self._resume(plan, done, looks or {})

    def _resume(self, plan: Plan, done: Sequence[TrialResult], looks: Mapping[str, list[dict[str, Any]]]) -> None:
        first = begun_rounds(plan.runnable, done)
        for table in self._tables:
            table.next_number = first.get(table.group, 0)
            table.rounds = max((self._good[cell.id] for cell in table.cells), default=0)
            table.looks = list(looks.get(table.group, ()))
            if table.looks:
                last = table.looks[-1]
                table.next_look = max(last["rounds"] + 1, round(last["rounds"] * LOOKS))
                table.decided = frozenset(map(frozenset, last["decided"]))
                table.answer = Answer(
                    table.decided | frozenset(map(frozenset, last["open"])), table.decided, frozenset()
                )
                table.active = frozenset(last["cells"])

    def note(self, result: TrialResult) -> None:
        """Record the duration, the measured value and the stolen time of a finished trial."""
        self._trials[result.cell] = max(self._trials[result.cell], result.trial + 1)
        self._took.setdefault(result.cell, []).append(result.wall_s)
        if self._cells[result.cell].workload is not None:
            self._good[result.cell] += result.good
            if self._in_question:
                self._in_question.note(result)
            return
        value = self._value(self._cells[result.cell], result) if result.good else None
        if value is None or result.round is None:
            return
        seen = self._seen.setdefault(self._cells[result.cell].group, [])
        earlier = [each for each in seen if (each.cell, each.round) == (result.cell, result.round)]
        for each in earlier:
            seen.remove(each)
        seen.append(Observation(result.cell, result.round, value, result.steal_share))
        self._good[result.cell] += not earlier
        self._note_steal(result, is_repetition=bool(earlier))

    def _note_steal(self, result: TrialResult, is_repetition: bool) -> None:
        """Mark a trial for repetition if the hypervisor stole too much CPU time during the trial. A trial is repeated
        at most once."""
        share = result.steal_share or 0.0
        self._steal.append(share)
        if not is_repetition and result.round is not None and is_beyond_use(share, median(self._steal)):
            self._disturbed[result.cell] = result.round

    @property
    def left_s(self) -> float:
        """Return the remaining time of the budget, in seconds."""
        used_s = 0.0 if self._began is None else self._clock() - self._began
        return self.budget_s - self._used_before_s - used_s

    @property
    def status(self) -> str:
        """Return the progress as text, such as `7 of 105 pairs open, 22 s left`."""
        left = f"{humanize.time(self.left_s)} left"
        asked = sum(len(table.answer.asked) for table in self._tables if table.answer)
        still_open = sum(len(table.open) for table in self._tables)
        return f"{still_open} of {asked} {UNITS.get(self.until, 'medians')} open, {left}" if asked else left

    @property
    def medians(self) -> list[tuple[Cell, float]]:
        """Return each compared cell, and the median of the medians of the cell's trials in µs."""
        seen = [each for table in self._tables if not table.level_only for each in self._seen.get(table.group, ())]
        values = {name: [each.value for each in seen if each.cell == name] for name in self._cells}
        return [(self._cells[name], median(each)) for name, each in values.items() if each]

    def next_round(self) -> list[PlannedTrial]:
        """Return the trials of the next round, or an empty list if every question is answered or too little time is
        left."""
        if self._began is None:
            self._began = self._clock()
        if again := self._repetitions():
            return again
        for table in self._tables:
            self._look_if_due(table)
        possible = list(filter(self._may_continue, self._tables))
        if not possible:
            self._look_last()
            return []
        return self._planned_round(min(possible, key=Table.urgency))

    def _repetitions(self) -> list[PlannedTrial]:
        """Return a repetition of each trial during which the hypervisor took too much CPU time, or an empty list if too
        little time is left.

        If the run compares two versions, the trials of both versions are repeated.
        """
        disturbed, self._disturbed = self._disturbed, {}
        rounds = dict(disturbed)
        for name, number in disturbed.items():
            if other := self._cells[name].comparison.counterpart:
                rounds[other] = number
        cells = [cell for name, cell in self._cells.items() if name in rounds]
        if sum(map(self._trial_s, cells)) > self.left_s:
            return []
        return [self._planned_trial(cell, rounds[cell.id]) for cell in shuffle(cells, self._draw)]

    def _planned_round(self, table: Table) -> list[PlannedTrial]:
        number, cells = table.next_number, shuffle(self._cells_of_round(table), self._draw)
        table.rounds += 1
        table.next_number += 1
        return [self._planned_trial(cell, number) for cell in cells]

    def _planned_trial(self, cell: Cell, number: int) -> PlannedTrial:
        return PlannedTrial(cell, self._trials[cell.id], next(self._order), self._draw.getrandbits(63), number)

    def _may_continue(self, table: Table) -> bool:
        return not table.is_decided and self._round_s(table) <= self.left_s and self._round_s(table) > 0

    def _is_active(self, table: Table, cell: Cell) -> bool:
        is_hopeless = self._trials[cell.id] >= HOPELESS and not self._good[cell.id]
        if is_hopeless or not self._has_purpose(table, cell):
            return False
        return cell.id in table.active or any(other.comparison.floor == cell.id for other in table.cells)

    def _has_purpose(self, table: Table, cell: Cell) -> bool:
        """Return whether a cell still needs trials.

        A flow is measured on its own over a transport only while its workload is measured over that transport and no
        other transport is significantly better for the workload.
        """
        beside = cell.comparison.beside
        if not beside:
            return True
        is_in_question = self._in_question is None or self._in_question.includes(beside)
        return is_in_question and self._is_active(table, self._cells[beside])

    def _cells_of_round(self, table: Table) -> list[Cell]:
        return [cell for cell in table.cells if self._is_active(table, cell) and table.is_due(cell)]

    def _round_s(self, table: Table) -> float:
        """Estimate the duration of a table's next round, in seconds."""
        return sum(map(self._trial_s, self._cells_of_round(table)))

    def _mean_round_s(self, table: Table) -> float:
        """Estimate the mean duration of a table's future rounds, in seconds."""
        active = (cell for cell in table.cells if self._is_active(table, cell))
        return sum(self._trial_s(cell) * table.share_of_rounds(cell) for cell in active)

    def _trial_s(self, cell: Cell) -> float:
        took = self._took.get(cell.id)
        return fmean(took) if took else trial_s(cell)

    def _look_if_due(self, table: Table) -> None:
        if not table.asks or table.rounds < table.next_look:
            return
        share = table.rounds / self._rounds_that_fit(table)
        if share < LAST_SHARE:
            table.next_look = max(table.rounds + 1, round(table.rounds * LOOKS))
            self._look(table, share)

    def _rounds_that_fit(self, table: Table) -> int:
        """Estimate how many rounds of a table fit into the budget, including the finished rounds. The remaining time is
        divided among all unfinished tables."""
        took_s = {each.group: self._mean_round_s(each) for each in self._tables}
        ahead = [replace(each) for each in self._tables if not each.is_decided and took_s[each.group] > 0]
        left_s = self.left_s
        while possible := [each for each in ahead if took_s[each.group] <= left_s and not each.is_decided]:
            following = min(possible, key=Table.urgency)
            following.rounds += 1
            left_s -= took_s[following.group]
        return next((each.rounds for each in ahead if each.group == table.group), table.rounds)

    def _look(self, table: Table, share: float) -> None:
        alpha = spend(share, table.spent_level)
        if alpha <= 0:
            return
        seen = self._seen.get(table.group, ())
        if self._is_judged:
            table.answer = look_at_requirements(table.cells, seen, self._is_judged, alpha)
        else:
            table.answer = look(table.cells, seen, self.until, alpha)
        table.decided |= table.answer.decided & table.answer.asked
        table.active = table.answer.needed.union(*table.open)
        table.looks.append(
            {
                "rounds": table.rounds,
                "last_round": table.next_number - 1,
                "alpha": alpha,
                "cells": sorted(table.active),
                "open": sorted(sorted(each) for each in table.open),
                "decided": sorted(sorted(each) for each in table.decided),
            }
        )

    def _look_last(self) -> None:
        """Run a final interim analysis of each table that was measured again since its previous analysis. The final
        analysis uses all of the significance level that earlier analyses have not used."""
        for table in self._tables:
            is_new = not table.looks or table.looks[-1]["rounds"] < table.rounds
            if is_new and table.rounds and table.asks and not table.is_decided:
                self._look(table, 1.0)

    @property
    def looks(self) -> dict[str, list[dict[str, Any]]]:
        """Return all interim analyses (looks), keyed by table, for `run.json`. Each look lists the number of finished
        rounds, the significance level and the questions that are still open."""
        return {table.group: table.looks for table in self._tables if table.looks}
