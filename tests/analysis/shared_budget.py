"""Simulate how often equal cells are wrongly judged different if two tables share the rounds of a budget."""

from __future__ import annotations

import math

from hopmeter.analysis.budget.budgeted_rounds import BudgetedRounds
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.make import Plan
from hopmeter.scenario import Scenario
from tests.cells import cell
from tests.statistics import noise_settings as known
from tests.statistics.noise_settings import RECORDED, Setting, draw

CHOICES, REFERENCES = 5, 3
TRIAL_S = 0.19
PAYLOADS = ("timing", "bytes:9")
PAIRS: list[tuple[Setting, Setting]] = [
    (known.equal_variances, known.unequal_variances),
    (known.quiet_and_noisy, known.two_modes),
    (known.drift, known.heavy_tails),
    (known.stolen_outliers, known.unseen_outliers),
    (known.unix, known.shm),
]
MOST_ROUNDS = {True: 48, False: 100}
"""The number of different rounds of recorded noise (True) and of synthetic noise (False); later rounds repeat these
rounds."""


def false_shares(settings: tuple[Setting, Setting], runs: int) -> list[float]:
    """Return, for each of the two tables, the share of runs in which a pair of equal choices is decided."""
    found = [_find_decided(settings, seed) for seed in range(runs)]
    return [sum(each[place] for each in found) / runs for place in range(len(PAYLOADS))]


def _find_decided(settings: tuple[Setting, Setting], seed: int) -> list[bool]:
    rounds = [MOST_ROUNDS[setting in RECORDED] for setting in settings]
    drawn = {
        payload: draw(setting, (1, CHOICES + REFERENCES, many), 10 * seed + place)
        for place, (payload, setting, many) in enumerate(zip(PAYLOADS, settings, rounds, strict=True))
    }

    def trial_of(of: Cell, number: int) -> tuple[float, float]:
        values, steal = drawn[of.axes.payload]
        return values[0, int(of.id[-1]), number % values.shape[2]], steal[0, int(of.id[-1]), number % values.shape[2]]

    now = 0.0
    scenario = Scenario.model_validate({"title": "t", "question": "q?", "budget": "60s"})
    plan = Plan("equal", scenario, [_cell(place, number) for place in range(2) for number in range(8)], seed)
    budget = BudgetedRounds(plan, [], lambda of, trial: math.exp(trial_of(of, trial.round or 0)[0]), None, lambda: now)
    while turns := budget.next_round():
        for turn in turns:
            now += TRIAL_S
            result = TrialResult(turn.cell.id, turn.trial, True, order=turn.order, wall_s=TRIAL_S, round=turn.round)
            result.steal_share = float(trial_of(turn.cell, turn.round)[1])
            budget.note(result)
    return [bool(table.decided) for table in budget._tables]


def _cell(place: int, number: int) -> Cell:
    return cell(id=f"{place}-{number}", transport=f"t{number}", payload=PAYLOADS[place], installable=number < CHOICES)


def print_shares(runs: int = 400) -> None:
    """Print one row per pair of settings."""
    for settings in PAIRS:
        names = ", ".join(each.__name__.replace("_", " ") for each in settings)
        print(f"| {names} |", ", ".join(f"{100 * each:.1f}" for each in false_shares(settings, runs)), "|", flush=True)


if __name__ == "__main__":
    print_shares()
