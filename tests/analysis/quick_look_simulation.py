"""Simulate how many pairs a quick look decides and how the quick look spends its time.

Run `python -m tests.analysis.quick_look_simulation`. Trials are drawn from the rounds of a recorded quick look. The
simulation uses hopmeter's own scheduling code; only time is simulated.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np

from hopmeter.analysis.budget import budgeted_table
from hopmeter.analysis.budget.budgeted_rounds import BudgetedRounds
from hopmeter.analysis.budget.budgeted_table import Table
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.make import Plan
from hopmeter.scenario import Scenario
from tests.cells import cell
from tests.statistics import noise_settings
from tests.statistics.noise_settings import recorded_trials

TABLES = {"timing": 0.19, "image": 0.3}
"""The duration of a trial in seconds, by payload."""
REFERENCES = {"memory", "shm", "unix", "tcp", "queue", "ros2-wire"}
CLEAR = 1.5


def names_of(table: str) -> list[str]:
    """Return the transports of a table, in the order of `recorded_trials`."""
    lines = (Path(noise_settings.__file__).parent / "quick_look.csv").read_text().splitlines()
    return [name for of, name, kind, *_ in (line.split(",") for line in lines) if (of, kind) == (table, "p50_us")]


@dataclass
class QuickLook:
    """A quick look with recorded noise. Each table also contains the rows that are measured with idle cores asleep."""

    seed: int
    now: float = 0.0
    rounds: BudgetedRounds = field(init=False)

    def __post_init__(self) -> None:
        keys = {"title": "t", "question": "q?", "budget": "87s", "no_idle_states": "both"}
        plan = Plan("quick", Scenario.model_validate(keys), list(map(self._cell, self._kinds())), self.seed)
        self.rounds = BudgetedRounds(plan, [], self._value, None, lambda: self.now)
        while turns := self.rounds.next_round():
            for turn in turns:
                took_s = TABLES[turn.cell.axes.payload]
                self.now += took_s
                found = TrialResult(turn.cell.id, turn.trial, True, order=turn.order, wall_s=took_s, round=turn.round)
                found.steal_share = float(self._draw(turn.cell, found)[1])
                self.rounds.note(found)

    def _kinds(self) -> list[tuple[str, str, bool]]:
        return [(table, name, awake) for table in TABLES for name in names_of(table) for awake in (True, False)]

    def _cell(self, kind: tuple[str, str, bool]) -> Cell:
        table, name, awake = kind
        made = cell(id=f"{table}-{name}-{awake}", transport=name, payload=table, no_idle_states=awake)
        return made.with_values(installable=name not in REFERENCES, floor=f"{table}-shm-{awake}")

    def _value(self, of: Cell, trial: TrialResult) -> float:
        return math.exp(self._draw(of, trial)[0])

    def _draw(self, of: Cell, trial: TrialResult) -> tuple[float, float]:
        """Return a trial. All trials of a round come from the same recorded round; a repeated trial comes from another
        recorded round."""
        values, steal = recorded_trials(of.axes.payload, "quick_look")
        again = trial.trial if trial.trial != trial.round else 0
        column = random.Random(f"{self.seed} {of.group} {trial.round} {again}").randrange(values.shape[1])
        row = names_of(of.axes.payload).index(of.axes.transport)
        return values[row, column], steal[row, column]

    def table(self, name: str) -> Table:
        return next(each for each in self.rounds._tables if each.cells[0].axes.payload == name and each.asks)

    def share_decided(self, name: str) -> float:
        """Return the share of the clearly different pairs of choices that the look decides."""
        names = names_of(name)
        level = dict(zip(names, np.median(recorded_trials(name, "quick_look")[0], axis=1), strict=True))
        pairs = combinations([each for each in names if each not in REFERENCES], 2)
        clear = [pair for pair in pairs if abs(level[pair[0]] - level[pair[1]]) >= math.log(CLEAR)]
        ids = {each.axes.transport: each.id for each in self.table(name).cells}
        return float(np.mean([frozenset(ids[each] for each in pair) in self.table(name).decided for pair in clear]))


def print_shares(title: str, looks: int = 50) -> None:
    """Print the number of rounds of both tables, and the share of clearly different pairs that these rounds decide."""
    found = [QuickLook(seed) for seed in range(looks)]
    rounds = [np.mean([look.table(name).rounds for look in found]) for name in TABLES]
    shares = [np.mean([look.share_decided(name) for look in found]) for name in TABLES]
    print(
        f"| {title} |", " | ".join(f"{each:.1f}" for each in rounds), "|", " | ".join(f"{s:.2f}" for s in shares), "|"
    )


if __name__ == "__main__":
    print("| rounds | of messages | of images | messages decided | images decided |\n|---|---|---|---|---|")
    for title, equal, step in (("equal", 10**6, 1), ("fewer of references", 10**6, 2), ("where noise is", 8, 2)):
        budgeted_table.EQUAL_ROUNDS, budgeted_table.REFERENCE_STEP = equal, step
        print_shares(title)
