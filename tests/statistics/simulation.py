"""Simulate how often the ranking decides wrongly and rightly: `python -m tests.statistics.simulation`.

Prints the tables of error rates, missed intervals and power in docs/method.md. All numbers apply to the complete
stopping rule: looks at `look_rounds`, with the levels of `spend`. A cell stops once all its pairs are decided, and a
wrong decision at any look counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from hopmeter.analysis.budget.budgeted_table import REFERENCE_STEP
from hopmeter.statistics import Observation, fit
from hopmeter.statistics.families import Family, best_divisors, make_families
from hopmeter.statistics.levels import level_intervals
from hopmeter.statistics.looks import LEAST_ROUNDS_FOR_WIDTH, WIDTH_ALLOWANCE, look_rounds, spend
from hopmeter.statistics.noise_model import fit_noise
from hopmeter.statistics.pair_tests import PairTests, compare_cells, step_down
from tests.statistics.noise_settings import HOSTILE, RECORDED, Floats, Setting, Trials, draw

GROUPS = (2, 3, 5, 15)
FITS = (5, 8, 12, 24)
RATIOS = (1.2, 1.3, 1.5, 2.0)
SPLITS = ((2, 1), (2, 3), (5, 3), (10, 5))
"""Numbers of choices and references."""
MADE_LEVELS = {
    "3 cells": [1, 1.3, 2],
    "5 cells, 10 % apart": [1.1**at for at in range(5)],
    "2 + 3 equal cells": [1, 1, 2, 2, 2],
    "5 times 3 equal cells": [1.5 ** (at // 3) for at in range(15)],
}


def families_of(cells: int, references: int = 0) -> list[Family]:
    """Return the families of a table whose last cells are references."""
    first, second = np.triu_indices(cells, 1)
    return make_families(first, second, np.arange(cells) < cells - references)


def compare_pairs(trials: Trials, known: NDArray[np.bool_]) -> PairTests:
    """Test all pairs of many tables at once, as `fit` does for one table."""
    values, steal = trials
    centred = values - np.median(values, axis=(1, 2), keepdims=True)
    return compare_cells(fit_noise(centred, steal, known), steal, centred)


def decide(tests: PairTests, families: Sequence[Family], alpha: float = 0.05) -> tuple[NDArray[np.bool_], Floats]:
    """Return which pairs are decided, and half the width of their intervals."""
    decided, half = np.zeros(tests.differences.shape, bool), np.zeros(tests.differences.shape)
    p_values = tests.p_values()
    for each in families:
        decided[:, each.places] = step_down(p_values[:, each.places], each.divisors, alpha)[0]
        half[:, each.places] = -stdtrit(tests.freedoms[:, each.places], alpha / each.divisors[0] / 2)
    return decided, half * tests.errors


def decide_once(trials: Trials, references: int = 0) -> NDArray[np.bool_]:
    """Return the pairs that a single look at the end decides."""
    return decide(compare_pairs(trials, np.ones(trials[0].shape, bool)), families_of(trials[0].shape[1], references))[0]


def best_is_wrong(setting: Setting, cells: int, rounds: int, tables: int = 1000) -> float:
    """Return how often the apparently best of equal cells is called better than another cell."""
    values, steal = draw(setting, (tables, cells, rounds), 5)
    model = fit_noise(values, steal, np.ones(values.shape, bool))
    tests = compare_cells(model, steal, values)
    best = model.effects.cells.argmin(axis=1)[:, None]
    own = (tests.first == best) | (tests.second == best)
    p_values = tests.p_values()[own].reshape(tables, cells - 1)
    return float(step_down(p_values, best_divisors(cells), 0.05)[0].any(axis=1).mean())


def interval_coverage(setting: Setting, levels: Sequence[float], rounds: int, tables: int = 200) -> float:
    """Return the share of tables whose intervals all contain the true ratio."""
    values, steal = (np.exp(each) for each in draw(setting, (tables, len(levels), rounds), 6, levels))
    covered = 0
    for table in range(tables):
        ranking = fit(
            Observation(str(cell), at, values[table, cell, at], math.log(steal[table, cell, at]))
            for cell in range(len(levels))
            for at in range(rounds)
        )
        covered += all(
            pair.low <= levels[int(pair.b)] / levels[int(pair.a)] <= pair.high
            for pair in ranking.pairs
            if pair.low is not None and pair.high is not None
        )
    return covered / tables


@dataclass
class Outcome:
    r"""The decisions of the complete stopping rule about each pair; the axes are table and pair.

    `signs` contains one value per pair, the sign of the first cell's value minus the second's: -1 or 1 if the pair is
    decided, otherwise 0. `low` and `high` are the limits of the final intervals. A pair that an earlier look decided,
    but not the last one, keeps the earlier look's interval.
    """

    signs: Floats
    low: Floats
    high: Floats
    decided: NDArray[np.bool_]

    def update(self, tests: PairTests, decided: NDArray[np.bool_], half: Floats) -> None:
        """Add the result of a later look."""
        middle = tests.differences
        self.signs = np.where((self.signs == 0) & decided, np.sign(middle), self.signs)
        retained = self.decided & ~decided & (np.sign(middle) == np.sign(self.low + self.high))
        self.low = np.where(retained, np.minimum(self.low, middle), middle - half)
        self.high = np.where(retained, np.maximum(self.high, middle), middle + half)
        self.decided = decided | retained


def follow_rule(trials: Trials, references: int = 0) -> Outcome:
    """Apply the complete stopping rule; the last `references` cells take part in every second round."""
    values, steal = trials
    tables, cells, rounds = values.shape
    first, second = np.triu_indices(cells, 1)
    families, known, spent = families_of(cells, references), np.ones(values.shape, bool), 0.0
    known[:, cells - references :, 1::REFERENCE_STEP] = False
    nothing = np.zeros((tables, len(first)))
    outcome = Outcome(nothing, nothing, nothing, nothing != 0)
    for look in look_rounds(rounds):
        alpha = spend(look / rounds, spent)
        spent += alpha
        tests = compare_pairs((values[..., :look], steal[..., :look]), known[..., :look])
        outcome.update(tests, *decide(tests, families, alpha))
        done = finished_cells(outcome.signs, first, second, cells, references)
        known[..., look:] &= ~done[:, :, None]
    return outcome


def finished_cells(
    signs: Floats, first: NDArray[np.intp], second: NDArray[np.intp], cells: int, references: int = 0
) -> NDArray[np.bool_]:
    """Return the choices whose pairs are all decided; the best choice continues."""
    choices = cells - references
    own = np.stack([((first == cell) | (second == cell)) & (second < choices) for cell in range(cells)])
    done = ((signs != 0)[:, None, :] | ~own).all(axis=2)
    best = np.stack([signs[:, second == cell].sum(1) - signs[:, first == cell].sum(1) for cell in range(cells)])
    done[np.arange(len(done)), best[:choices].argmax(0)] = False
    done[:, choices:] = False
    return done


def false_tables(setting: Setting, cells: int, rounds: int, tables: int = 1000, seed: int = 1) -> float:
    """Return the share of tables of equal cells with any decided pair."""
    return false_families(setting, cells, 0, rounds, tables, seed)[0]


def false_families(
    setting: Setting, choices: int, references: int, rounds: int, tables: int = 1000, seed: int = 1
) -> list[float]:
    """Return the shares of tables of equal cells with any decided pair of choices, and with any decided pair of a
    reference."""
    cells = choices + references
    wrong = follow_rule(draw(setting, (tables, cells, rounds), seed), references).signs != 0
    return [float(wrong[:, each.places].any(axis=1).mean()) for each in families_of(cells, references)]


def wrong_tables(setting: Setting, levels: Sequence[float], rounds: int, tables: int = 1000, seed: int = 1) -> float:
    """Return the share of tables in which a pair of equal cells is decided, or a pair is decided the wrong way."""
    signs = follow_rule(draw(setting, (tables, len(levels), rounds), seed, levels)).signs
    return float(((signs != 0) & (signs != np.sign(true_differences(levels)))).any(axis=1).mean())


def true_differences(levels: Sequence[float]) -> Floats:
    """Return the true value of the first cell minus that of the second cell, for each pair."""
    first, second = np.triu_indices(len(levels), 1)
    differences: Floats = np.round(np.log(levels)[first] - np.log(levels)[second], 9)
    return differences


def missed_intervals(setting: Setting, levels: Sequence[float], rounds: int, tables: int = 1000) -> float:
    """Return the share of tables in which any interval misses the true ratio, under the complete stopping rule."""
    outcome, truth = follow_rule(draw(setting, (tables, len(levels), rounds), 8, levels)), true_differences(levels)
    return float(((outcome.low > truth + 1e-9) | (truth > outcome.high + 1e-9)).any(axis=1).mean())


def power(
    setting: Setting, ratio: float, rounds: int, whole_rule: bool = True, tables: int = 300, references: int = 0
) -> float:
    """Return the share of decided pairs between two halves of six cells whose levels differ by a ratio.

    The `references` are the last cells of both halves; pairs with a reference do not count.
    """
    half = 6 - references // 2
    levels = [1.0] * half + [ratio] * half + [1.0] * (6 - half) + [ratio] * (6 - half)
    trials = draw(setting, (tables, 12, rounds), 3, levels)
    signs = follow_rule(trials, references).signs if whole_rule else np.where(decide_once(trials, references), -1, 0)
    first, second = np.triu_indices(12, 1)
    return float((signs[:, (first < half) & (second >= half) & (second < 2 * half)] == -1).mean())


def precise_coverage(setting: Setting, within: float, rounds_that_fit: int, tables: int = 1000) -> tuple[float, float]:
    """Stop at the first look that resolves the level of a share. Return the final coverage, and the share of tables
    that stop early.

    The true level is 0, so the noise must be symmetric.
    """
    values, steal = draw(setting, (tables, 3, rounds_that_fit), 4)
    covered, stopped = np.zeros(tables, bool), np.zeros(tables, bool)
    for rounds in look_rounds(rounds_that_fit):
        part = values[..., :rounds]
        model = fit_noise(part, steal[..., :rounds], np.ones(part.shape, bool))
        levels, half = (each[:, 0] for each in level_intervals(model, 0.05))
        enough = (WIDTH_ALLOWANCE * np.expm1(half) <= within) & (rounds >= LEAST_ROUNDS_FOR_WIDTH)
        covered = np.where(stopped, covered, np.abs(levels) <= half)
        stopped |= enough & (rounds < rounds_that_fit)
    return float(covered.mean()), float(stopped.mean())


def print_errors(tables: int = 1000) -> None:
    """Print the table of error rates."""
    print("| noise |", " | ".join(f"{cells} cells" for cells in GROUPS), "|\n|---|" + "---|" * len(GROUPS))
    for setting in HOSTILE + RECORDED:
        most = 12 if setting in RECORDED else 15
        rates = [[100 * false_tables(setting, min(cells, most), fit, tables) for fit in FITS] for cells in GROUPS]
        row = " | ".join(", ".join(f"{rate:.1f}" for rate in each) for each in rates)
        print(f"| {_name(setting)} | {row} |", flush=True)


def print_families(tables: int = 1000) -> None:
    """Print the table of error rates with references, as choices / references."""
    heads = [f"{choices} + {references}" for choices, references in SPLITS]
    rates = {
        setting: ["" if _is_too_large(setting, sum(split)) else _families(setting, split, tables) for split in SPLITS]
        for setting in HOSTILE + RECORDED
    }
    _print_table(heads, rates)


def print_missed(tables: int = 1000) -> None:
    """Print the table of intervals that miss the true ratio."""
    rates = {
        setting: [
            "" if _is_too_large(setting, len(levels)) else _missed_text(setting, levels, tables)
            for levels in MADE_LEVELS.values()
        ]
        for setting in HOSTILE + RECORDED
    }
    _print_table(list(MADE_LEVELS), rates)


def _families(setting: Setting, split: tuple[int, int], tables: int) -> str:
    found = [false_families(setting, *split, rounds, tables) for rounds in FITS]
    return ", ".join("/".join(f"{100 * rate:.1f}" for rate in each) for each in found)


def _missed_text(setting: Setting, levels: Sequence[float], tables: int) -> str:
    return ", ".join(f"{100 * missed_intervals(setting, levels, rounds, tables):.1f}" for rounds in FITS)


def _is_too_large(setting: Setting, cells: int) -> bool:
    """Return whether the recording has fewer cells than the setting needs."""
    return setting in RECORDED and cells > 12


def _print_table(heads: Sequence[str], rates: Mapping[Setting, Sequence[str]]) -> None:
    print("| noise |", " | ".join(heads), "|\n|---|" + "---|" * len(heads))
    for setting, each in rates.items():
        print(f"| {_name(setting)} |", " | ".join(text or "–" for text in each), "|")


def _name(setting: Setting) -> str:
    return setting.__name__.replace("_", " ")


def print_power() -> None:
    """Print the table of power, for the complete stopping rule and for a single look at the end."""
    print("| noise | rounds |", " | ".join(f"ratio {ratio}" for ratio in RATIOS), "|\n|---|---|" + "---|" * len(RATIOS))
    for setting in RECORDED:
        for rounds in FITS:
            pairs = [
                (power(setting, ratio, rounds), power(setting, ratio, rounds, whole_rule=False)) for ratio in RATIOS
            ]
            print(
                f"| {setting.__name__} | {rounds} |",
                " | ".join(f"{a:.2f} ({b:.2f})" for a, b in pairs),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    for show in (print_errors, print_families, print_missed, print_power):
        show()
        print()
