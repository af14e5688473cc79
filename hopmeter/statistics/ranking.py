"""Rank the cells of a table by their trials, compared within rounds. docs/method.md gives the reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hopmeter.statistics.levels import level_intervals
from hopmeter.statistics.noise_model import NoiseModel, fit_noise
from hopmeter.statistics.observations import Observation, Scale, Table, make_table
from hopmeter.statistics.pair_tests import (
    LEAST_ROUNDS,
    PairTests,
    all_pairs_divisors,
    best_divisors,
    compare_cells,
    one_divisors,
    step_down,
)

ALPHA = 0.05
BEST = "best"
LEAST_DIFFERENCE = 1e-9
"""The lower end, on the scale of the fit, of a pair that is decided only by a later step."""


@dataclass(frozen=True)
class Pair:
    """Two cells of a table; `a` is the faster one by estimate.

    `ratio` is the latency of `b` divided by that of `a`, and `low` and `high` are its interval, simultaneous over all
    compared pairs. If values of the table are zero or below, `ratio` is None, and `difference` (b minus a, in us) and
    its interval stand instead. The interval is None if there are fewer than three common rounds. `error` and `freedom`
    are the standard error and degrees of freedom on the scale of the fit, `level` that of this pair's test.
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


@dataclass(frozen=True)
class Noise:
    """Noise of the trials: standard deviation without steal (of logarithms on the scale `ratio`) and steal weight g.

    With a steal share s, the variance of a trial is (1 + g · s²) times as large. `worst_steal` is the largest share.
    """

    sd: float
    steal_weight: float
    worst_steal: float


Bounds = tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Ranking:
    """What the rounds say about the cells of one table. `levels` are in us; see `Pair` for `scale`.

    On the scale `difference`, `ratio_to_best` has the differences from the best.
    """

    scale: Scale
    alpha: float
    cells: tuple[str, ...]
    pairs: tuple[Pair, ...]
    ranks: dict[str, tuple[int, int]]
    best: str | None
    ratio_to_best: dict[str, Bounds]
    levels: dict[str, Bounds]
    rounds: dict[str, int]
    noise: Noise


def fit(observations: Iterable[Observation], alpha: float = ALPHA, versus: str | None = None) -> Ranking:
    """Compare cells by their trials: all pairs, with the current `"best"`, or with the cell whose id is `versus`."""
    table = make_table(observations)
    if not table.cells:
        return Ranking("ratio", alpha, (), (), {}, None, {}, {}, {}, Noise(math.nan, 0.0, 0.0))
    centre = float(np.median(table.values[table.known]))
    values = np.where(table.known, table.values - centre, 0.0)[None]
    steal, known = table.steal[None], table.known[None]
    model = fit_noise(values, steal, known)
    levels = _levels(table, model, centre)
    best = min(table.cells, key=lambda cell: levels[cell][0])
    tests = compare_cells(model, steal, values)
    pairs = tuple(_pairs(table, tests, _places(table.cells, tests, best if versus == BEST else versus), versus, alpha))
    return Ranking(
        table.scale,
        alpha,
        table.cells,
        pairs,
        rank_ranges(table.cells, decided_pairs(pairs)),
        best,
        ratios_to_best(table.scale, levels, pairs, best),
        levels,
        dict(zip(table.cells, table.known.sum(axis=1).tolist(), strict=True)),
        _noise(table, model),
    )


def divisors(cells: int, versus: str | None) -> tuple[int, ...]:
    """Return the divisors of the level for each step down."""
    if versus is None:
        return all_pairs_divisors(cells)
    return best_divisors(cells) if versus == BEST else one_divisors(cells)


def _places(cells: Sequence[str], tests: PairTests, centre: str | None) -> list[int]:
    names = [(cells[first], cells[second]) for first, second in zip(tests.first, tests.second, strict=True)]
    return [at for at, pair in enumerate(names) if centre is None or centre in pair]


def _pairs(table: Table, tests: PairTests, compared: list[int], versus: str | None, alpha: float) -> list[Pair]:
    if not compared:
        return []
    decided, levels = step_down(tests.p_values()[0, compared], divisors(len(table.cells), versus), alpha)
    single = alpha / divisors(len(table.cells), versus)[0]
    return [
        _pair(table, tests, at, bool(yes), float(level), single)
        for at, yes, level in zip(compared, decided, levels, strict=True)
    ]


def _pair(table: Table, tests: PairTests, at: int, decided: bool, level: float, single: float) -> Pair:
    """Make a pair. Its interval has the level of the first step, which makes all intervals hold at once; a pair that
    only a later step decides is known to differ, but not by how much at least."""
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
    return Pair(a, b, ratio, low, high, decided, difference, int(rounds), error, freedom, level)


def quantile(level: float, freedom: float) -> float:
    """Return the two-sided quantile of Student's t."""
    from scipy.special import stdtrit  # slow to load, and most commands need no statistics

    return float(-stdtrit(freedom, level / 2))


def on_scale(scale: Scale, value: float) -> float:
    """Return a value of the fit as a ratio, or as it is."""
    return value if scale == "difference" else math.exp(min(value, 700.0))


def rank_ranges(cells: Sequence[str], decided: Iterable[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return the best and the worst rank that each cell may have. A decided pair names the faster cell first."""
    faster, slower = (dict.fromkeys(cells, 0) for _ in range(2))
    for a, b in decided:
        slower[a] += 1
        faster[b] += 1
    return {cell: (1 + faster[cell], len(cells) - slower[cell]) for cell in cells}


def decided_pairs(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    """Return the faster and the slower cell of each decided pair."""
    return [(each.a, each.b) for each in pairs if each.decided]


def ratios_to_best(scale: Scale, levels: dict[str, Bounds], pairs: Sequence[Pair], best: str) -> dict[str, Bounds]:
    """Return ratio and interval of each cell to the best one; the interval of a pair that was not compared is None."""
    unit = 1.0 if scale == "ratio" else 0.0
    found: dict[str, Bounds] = {}
    for cell, (level, _, _) in levels.items():
        found[cell] = (level / levels[best][0] if scale == "ratio" else level - levels[best][0], None, None)
    for each in pairs:
        size = each.ratio if each.ratio is not None else each.difference
        if best == each.a and size is not None:
            found[each.b] = (size, each.low, each.high)
        elif best == each.b and size is not None:
            found[each.a] = _reverse(scale, size, each.low, each.high)
    return found | {best: (unit, unit, unit)}


def _reverse(scale: Scale, size: float, low: float | None, high: float | None) -> Bounds:
    def turn(value: float) -> float:
        return 1 / value if scale == "ratio" else -value

    return turn(size), None if high is None else turn(high), None if low is None else turn(low)


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
