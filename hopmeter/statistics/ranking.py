"""Rank the cells of a table by comparing their trials within rounds. docs/method.md explains the method."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hopmeter.statistics.families import CHOICES, Family, Name, make_families
from hopmeter.statistics.levels import level_intervals
from hopmeter.statistics.noise_model import NoiseModel, fit_noise
from hopmeter.statistics.observations import Observation, Scale, Table, make_table
from hopmeter.statistics.pair_tests import LEAST_ROUNDS, PairTests, compare_cells, step_down

ALPHA = 0.05
BEST = "best"
LEAST_DIFFERENCE = 1e-9
"""The lower bound of the interval, on the fit's scale, of a pair that becomes significant only in a later step of the
step-down procedure."""


@dataclass(frozen=True)
class CellPair:
    """Two cells of a table; `a` is the cell with the lower estimate.

    `ratio` is the latency of `b` divided by the latency of `a`. `low` and `high` are the confidence interval of
    `ratio`, which holds simultaneously for all pairs of the `family`. `low` and `high` are None if the cells have fewer
    than three common rounds.

    If the table contains values that are not positive, `ratio` is None, and `low` and `high` are bounds of `difference`
    (b minus a in µs). `error` and `freedom` are the standard error and the degrees of freedom of the fitted difference,
    which is logarithmic for ratios. `level` is the significance level at which the pair was tested.
    """

    a: str
    b: str
    ratio: float | None
    low: float | None
    high: float | None
    decided: bool
    difference: float | None = None
    rounds: int = 0
    error: float = math.nan
    freedom: float = math.nan
    level: float = math.nan
    family: Name = CHOICES
    stopped_early: bool = False
    """Whether the significant difference and the interval come from an earlier look (`retain_decisions`)."""

    @property
    def cells(self) -> frozenset[str]:
        """The ids of both cells."""
        return frozenset((self.a, self.b))


@dataclass(frozen=True)
class Noise:
    """The noise of the trials: the standard deviation without stolen CPU time, and the steal weight g.

    If the scale is `ratio`, the standard deviation refers to logarithms. A steal share s multiplies a trial's variance
    by 1 + g · s². `worst_steal` is the largest steal share among all trials.
    """

    sd: float
    steal_weight: float
    worst_steal: float


Bounds = tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Ranking:
    """The result of comparing a table's cells by rounds. `levels` are in µs, and the docstring of `CellPair` explains
    `scale`.

    `choices` are the ranked cells; all other cells are references. `best` is the best choice, or None if there is no
    choice.
    """

    scale: Scale
    alpha: float
    cells: tuple[str, ...]
    choices: tuple[str, ...]
    pairs: tuple[CellPair, ...]
    ranks: dict[str, tuple[int, int]]
    best: str | None
    levels: dict[str, Bounds]
    rounds: dict[str, int]
    noise: Noise

    def distance(self, a: str, b: str) -> float:
        """Return the estimated level of `b` divided by the estimated level of `a`. If the scale is `difference`, return
        the level of `b` minus the level of `a`."""
        here, there = self.levels[a][0], self.levels[b][0]
        return there / here if self.scale == "ratio" else there - here


def fit(
    observations: Iterable[Observation],
    alpha: float = ALPHA,
    versus: str | None = None,
    references: Collection[str] = (),
    scale: Scale | None = None,
) -> Ranking:
    """Compare cells by their trials: all pairs of choices, and all pairs that contain a reference.

    If `versus` is `"best"`, each choice is compared only with the best choice. `references` are the cells that get no
    rank. `alpha` is the significance level for each family of pairs. `make_table` explains `scale`.
    """
    table = make_table(observations, scale)
    if not table.cells:
        return Ranking("ratio", alpha, (), (), (), {}, None, {}, {}, Noise(math.nan, 0.0, 0.0))
    centre = float(np.median(table.values[table.known]))
    values = np.where(table.known, table.values - centre, 0.0)[None]
    steal, known = table.steal[None], table.known[None]
    model = fit_noise(values, steal, known)
    levels = _levels(table, model, centre)
    choices = tuple(cell for cell in table.cells if cell not in references)
    best = min(choices, key=lambda cell: levels[cell][0], default=None)
    tests = compare_cells(model, steal, values)
    families = _families(table, tests, choices, best if versus == BEST else None)
    pairs = tuple(pair for family in families for pair in _pairs(table, tests, family, alpha))
    return Ranking(
        table.scale,
        alpha,
        table.cells,
        choices,
        pairs,
        rank_ranges(choices, pairs),
        best,
        levels,
        dict(zip(table.cells, table.known.sum(axis=1).tolist(), strict=True)),
        _noise(table, model),
    )


def _families(table: Table, tests: PairTests, choices: Sequence[str], best: str | None) -> list[Family]:
    is_choice = np.array([cell in choices for cell in table.cells])
    return make_families(tests.first, tests.second, is_choice, None if best is None else table.cells.index(best))


def _pairs(table: Table, tests: PairTests, family: Family, alpha: float) -> list[CellPair]:
    decided, levels = step_down(tests.p_values()[0, family.places], family.divisors, alpha)
    single = alpha / family.divisors[0]
    return [
        _pair(table, tests, at, bool(yes), float(level), single, family.name)
        for at, yes, level in zip(family.places.tolist(), decided, levels, strict=True)
    ]


def _pair(
    table: Table, tests: PairTests, at: int, decided: bool, level: float, single: float, family: Name
) -> CellPair:
    """Return the CellPair that compares two cells.

    The pair's interval uses the significance level of the first test step, so that all intervals hold simultaneously.
    If only a later step finds the pair significant, the interval is shortened so that it just excludes equality.
    """
    names = table.cells[tests.first[at]], table.cells[tests.second[at]]
    distance = float(tests.differences[0, at])
    a, b = names if distance <= 0 else names[::-1]
    rounds, error, freedom = (float(each[0, at]) for each in (tests.common, tests.errors, tests.freedoms))
    low: float | None = None
    high: float | None = None
    if rounds >= LEAST_ROUNDS:
        half = quantile(single, freedom) * error
        least = min(LEAST_DIFFERENCE, abs(distance)) if decided else -math.inf
        low = on_scale(table.scale, max(abs(distance) - half, least))
        high = on_scale(table.scale, abs(distance) + half)
    size = on_scale(table.scale, abs(distance))
    ratio, difference = (size, None) if table.scale == "ratio" else (None, size)
    return CellPair(a, b, ratio, low, high, decided, difference, int(rounds), error, freedom, level, family)


def quantile(level: float, freedom: float) -> float:
    """Return the two-sided quantile of Student's t distribution."""
    from scipy.special import stdtrit  # SciPy is slow to import, and most commands need no statistics

    return float(-stdtrit(freedom, level / 2))


def on_scale(scale: Scale, value: float) -> float:
    """Convert a fitted value, which is a logarithm on the scale `ratio`, to a ratio. If the scale is `difference`,
    return the value unchanged."""
    return value if scale == "difference" else math.exp(min(value, 700.0))


def rank_ranges(choices: Sequence[str], pairs: Iterable[CellPair]) -> dict[str, tuple[int, int]]:
    """Return the best and the worst possible rank of each choice, ignoring pairs with a reference."""
    faster, slower = (dict.fromkeys(choices, 0) for _ in range(2))
    for each in pairs:
        if each.decided and each.family == CHOICES:
            slower[each.a] += 1
            faster[each.b] += 1
    return {cell: (1 + faster[cell], len(choices) - slower[cell]) for cell in choices}


def _levels(table: Table, model: NoiseModel, centre: float) -> dict[str, Bounds]:
    levels, halves = (each[0].tolist() for each in level_intervals(model, ALPHA))
    found: dict[str, Bounds] = {}
    for cell, level, half in zip(table.cells, levels, halves, strict=True):
        known = math.isfinite(half)
        low, high = (on_scale(table.scale, centre + level + part) if known else None for part in (-half, half))
        found[cell] = (on_scale(table.scale, centre + level), low, high)
    return found


def _noise(table: Table, model: NoiseModel) -> Noise:
    worst = float(table.steal.max())
    sd = math.sqrt(float(np.median(model.variances)))
    return Noise(sd, float(model.steal_weight[0]) if worst > 0 else 0.0, worst)
