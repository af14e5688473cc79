"""A budgeted run in simulated time, with known medians."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hopmeter.analysis.budget.budgeted_rounds import BudgetedRounds
from hopmeter.analysis.cells.requirements import Judge
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.make import Plan
from hopmeter.runtime.order import PlannedTrial
from hopmeter.scenario import Scenario

from ..cells import cell

TRIAL_S = 0.5


def plan(cells: Sequence[Cell], budget: str = "60s", **more: Any) -> Plan:
    scenario = Scenario.model_validate({"title": "t", "question": "q?", "budget": budget, **more})
    return Plan("made", scenario, list(cells), 7)


def cells_of(*medians: float, **changes: Any) -> list[Cell]:
    return [cell(id=f"c{number}", transport=f"t{median:g}", **changes) for number, median in enumerate(medians)]


def larger(cells: Sequence[Cell]) -> list[Cell]:
    return [each.with_values(id=f"l{each.id}", payload="bytes:9", payload_bytes=9) for each in cells]


@dataclass
class Run:
    """Executes the rounds of a plan in simulated time."""

    made: Plan
    median: Callable[[Cell], float] = lambda cell: float(cell.axes.transport[1:])
    noise: float = 0.05
    noise_of: Callable[[Cell], float] | None = None
    now: float = 0.0
    trials: list[TrialResult] = field(default_factory=list)
    looks: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    fails: frozenset[str] = frozenset()
    steal: dict[tuple[str, int], float] = field(default_factory=dict)

    def is_judged(self, cell: Cell, median: tuple[float | None, float | None, float | None], alpha: float) -> bool:
        row: dict[str, Any] = dict(zip(("median_us", "median_low_us", "median_high_us"), median, strict=True))
        trials = sum(each.cell == cell.id for each in self.trials)
        row |= {"status": "ok", "trials_good": trials}
        return Judge(cell, [], self.made.scenario.require, alpha).columns(row)["require"] != "undecided"

    def value(self, cell: Cell, result: TrialResult) -> float:
        draw = random.Random(f"{cell.id} {result.trial}")
        noise = self.noise_of(cell) if self.noise_of else self.noise
        return self.median(cell) * math.exp(draw.gauss(0, noise))

    def rounds(self, most: int = 10_000) -> Iterator[list[PlannedTrial]]:
        self.budget = BudgetedRounds(self.made, self.trials, self.value, self.looks, lambda: self.now, self.is_judged)
        for _ in range(most):
            if not (turns := self.budget.next_round()):
                break
            for turn in turns:
                self.now += TRIAL_S
                good = turn.cell.id not in self.fails
                result = TrialResult(turn.cell.id, turn.trial, good, order=turn.order, wall_s=TRIAL_S, round=turn.round)
                result.steal_share = self.steal.get((turn.cell.id, turn.trial), 0.0)
                self.trials.append(result)
                self.budget.note(result)
            yield turns
        self.looks = self.budget.looks

    def counts(self) -> dict[str, int]:
        """Execute all rounds, and return the number of trials of each cell."""
        list(self.rounds())
        return {each.id: sum(trial.cell == each.id for trial in self.trials) for each in self.made.cells}
