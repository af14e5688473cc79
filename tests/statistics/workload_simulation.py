"""Simulate error rates and power of the workload ranking: `python -m tests.statistics.workload_simulation`.

Prints the tables in docs/method.md. All numbers apply to the complete rule: deadlines, then the worst p99 of a flow,
then CPU. Each criterion has its own share of the significance level and tests only pairs that earlier criteria left
undecided. Many tables are fitted at once; `decide_one` ranks one table with the code of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from hopmeter.analysis.workload.worst_flow import WorstFlows
from hopmeter.statistics import Observation, fit
from hopmeter.statistics.criteria import Decisions, decide_in_order, share_level
from hopmeter.statistics.families import some_pairs_divisors
from hopmeter.statistics.noise_model import fit_noise
from hopmeter.statistics.pair_tests import PairTests, compare_cells, step_down
from hopmeter.statistics.shares.share_tests import ShareTrial, can_differ, compare_shares
from hopmeter.statistics.single_pairs import judge_pairs
from tests.statistics.noise_settings import (
    Floats,
    Setting,
    draw,
    drift,
    equal_variances,
    heavy_tails,
    quiet_and_noisy,
    shm,
    stolen_outliers,
    two_modes,
    unix,
    unseen_outliers,
)

FITS = (5, 8, 12, 24)
CELLS = {2: FITS, 3: FITS, 5: FITS, 8: (5, 12)}
"""The numbers of transports, each with the numbers of rounds."""
MESSAGES = 2500
"""The number of messages with a deadline in each trial: 5 s at 500 Hz."""
FLOWS = ("camera", "objects", "commands")
MANY_FLOWS = (*FLOWS, "lidar", "map", "log", "joy", "state")
ALPHA = 0.05
DEADLINES, TAIL, CPU = "deadlines", "p99", "cpu"
CPU_NOISE = 0.2
"""The standard deviation of log CPU, which varies less than latency."""


@dataclass(frozen=True)
class Effects:
    """Differences between the last transports and all others, in missed deadlines, in the p99 of one flow, and in CPU.

    `cells` is the number of last transports that differ from all others; all of them differ by the same amount. If
    `punctual` is not 0, all transports except the last `punctual` transports miss ten times as many deadlines.
    """

    missed: float = 1.0
    p99: float = 1.0
    cpu: float = 1.0
    cells: int = 1
    punctual: int = 0

    def is_late(self, cells: int) -> NDArray[np.bool_]:
        """Return which transports miss ten times as many deadlines."""
        return np.arange(cells) < (cells - self.punctual if self.punctual else 0)


@dataclass(frozen=True)
class Workload:
    """The noise between trials, the share of missed deadlines, and the number of consecutive misses."""

    noise: Setting
    share: float
    burst: int = 1
    effects: Effects = field(default_factory=Effects)
    flows: int = len(FLOWS)


@dataclass(frozen=True)
class Tables:
    """Trials of many tables: missed deadlines, log p99 of each flow, log CPU, and steal; the axes are table, cell and
    round."""

    missed: NDArray[np.int64]
    tails: Sequence[Floats]
    cpu: Floats
    steal: Floats

    @property
    def cells(self) -> int:
        return int(self.missed.shape[1])

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return [(one, other) for one in range(self.cells) for other in range(one + 1, self.cells)]


def draw_tables(one: Workload, cells: int, rounds: int, tables: int, seed: int = 1) -> Tables:
    """Draw tables. Half of the variance of a value is common to all values of its trial."""
    shape = (tables, cells, rounds)
    drawn = [draw(one.noise, shape, 100 * seed + at) for at in range(3 + one.flows)]
    common, steal = drawn[0]
    missed, *tails, cpu = ((common + each) / np.sqrt(2) for each, _ in drawn[1:])
    last = (np.arange(cells) >= cells - one.effects.cells)[:, None]
    tails[0] = tails[0] + last * np.log(one.effects.p99)
    late = one.effects.is_late(cells)[:, None]
    counts = _draw_missed(one, missed + last * np.log(one.effects.missed) + late * np.log(10), seed)
    return Tables(counts, tails, CPU_NOISE * cpu + last * np.log(one.effects.cpu), steal)


def _draw_missed(one: Workload, noise: Floats, seed: int) -> NDArray[np.int64]:
    """Draw the number of missed deadlines of each trial, in bursts, with a probability that follows the trial's
    noise."""
    centred = noise - np.median(noise)
    shares = np.clip(one.share * np.exp(centred), 0.0, 1.0)
    drawn: NDArray[np.int64] = one.burst * np.random.default_rng(seed).binomial(MESSAGES // one.burst, shares)
    return drawn


def decide_all(tables: Tables) -> dict[str, Floats]:
    """Return the decided pairs by criterion: -1 if the first cell is better, 1 if the second cell is better, and 0 if
    undecided.

    A criterion decides only pairs that earlier criteria leave undecided.
    """
    alpha = share_level(ALPHA, 3)
    shares = tables.missed / MESSAGES
    fits = [_compare(shares[:, pair], tables.steal[:, pair]) for pair in tables.pairs]
    counted = [_counts_p_values(tables.missed[:, pair].sum(axis=2)) for pair in tables.pairs]
    cpu = _compare(tables.cpu, tables.steal)
    found = {DEADLINES: _decide_pairs(tables, _join(fits), alpha, others=np.stack(counted, axis=1))}
    most = np.sort(tables.missed.sum(axis=2), axis=1)[:, -2:].sum(axis=1)
    share = ALPHA * np.where(2 * 0.5**most <= alpha, 1 / 3, 1 / 2)
    open_ = found[DEADLINES] == 0
    tails = _join(list(_tail_fits(tables)))
    found[TAIL] = _decide_pairs(tables, tails, share / len(tables.tails), open_)
    found[CPU] = _decide_pairs(tables, (cpu.p_values(), cpu.differences), share, open_ & (found[TAIL] == 0))
    return found


def _compare(values: Floats, steal: Floats) -> PairTests:
    """Test all pairs of many tables at once, as `fit` does for one table."""
    centred = values - np.median(values, axis=(1, 2), keepdims=True)
    return compare_cells(fit_noise(centred, steal, np.ones(values.shape, bool)), steal, centred)


def _join(fits: Sequence[PairTests]) -> tuple[Floats, Floats]:
    """Join the p-values and differences of pairs that were fitted separately; the axes are table and pair."""
    p_values = np.concatenate([each.p_values() for each in fits], axis=1)
    return p_values, np.concatenate([each.differences for each in fits], axis=1)


def _decide_pairs(
    tables: Tables,
    tests: tuple[Floats, Floats],
    alpha: Floats | float,
    open_: NDArray[np.bool_] | None = None,
    others: Floats | None = None,
) -> Floats:
    """Step down through the undecided pairs of each table; `others` are p-values that must be small too.

    P-values are divided by `alpha`, which may differ between tables, so that the level of all tables is 1.
    """
    p_values, differences = tests
    p_values = p_values if others is None else np.maximum(p_values, others)
    p_values = p_values / np.reshape(alpha, (-1, 1))
    decided = np.zeros(p_values.shape)
    patterns, place = np.unique(np.ones_like(p_values, bool) if open_ is None else open_, axis=0, return_inverse=True)
    for at, pattern in enumerate(patterns):
        own, columns = np.flatnonzero(place.ravel() == at), np.flatnonzero(pattern)
        if len(columns):
            divisors = some_pairs_divisors(tuple(tables.pairs[column] for column in columns))
            decided[np.ix_(own, columns)] = step_down(p_values[np.ix_(own, columns)], divisors, 1.0)[0]
    found: Floats = decided * np.sign(differences)
    return found


def _counts_p_values(counts: NDArray[np.int64]) -> Floats:
    """Return the p-value of the difference between two counts out of equally many messages; the axes are table and
    cell."""
    total = counts.sum(axis=1)
    below, above = bdtr(counts[:, 0], total, 0.5), bdtrc(np.maximum(counts[:, 0] - 1, 0), total, 0.5)
    above = np.where(counts[:, 0] > 0, above, 1.0)
    found: Floats = np.where(total > 0, np.minimum(1.0, 2 * np.minimum(below, above)), 1.0)
    return found


def _tail_fits(tables: Tables) -> Iterator[PairTests]:
    """Yield the test of each pair, which compares the cells' worst flows relative to the best cell of each flow."""
    rows = np.arange(len(tables.missed))
    values = np.stack(tables.tails, axis=1)
    levels = np.stack([_levels(each, tables.steal) for each in tables.tails], axis=1)
    best = levels.argmin(axis=2)
    worst = (levels - levels.min(axis=2, keepdims=True)).argmax(axis=1)
    for one, other in tables.pairs:
        flows = worst[:, one], worst[:, other]
        bests = best[rows, flows[0]], best[rows, flows[1]]
        first = values[rows, flows[0], one] + values[rows, flows[1], bests[1]]
        second = values[rows, flows[1], other] + values[rows, flows[0], bests[0]]
        all_of = [tables.steal[:, one], tables.steal[:, other], *(tables.steal[rows, each] for each in bests)]
        steal = np.max(all_of, axis=0)
        yield _compare(np.stack([first, second], axis=1), np.stack([steal, steal], axis=1))


def _levels(values: Floats, steal: Floats) -> Floats:
    centred = values - np.median(values, axis=(1, 2), keepdims=True)
    return fit_noise(centred, steal, np.ones(values.shape, bool)).effects.cells


def decide_one(tables: Tables, at: int) -> Decisions:
    """Rank one table with the code that ranks a run."""
    names = [f"c{cell}" for cell in range(tables.cells)]
    known = [(cell, number) for cell in range(tables.cells) for number in range(tables.cpu.shape[2])]
    steal = {(names[c], n): float(tables.steal[at, c, n]) for c, n in known}
    shares = [ShareTrial(names[c], n, int(tables.missed[at, c, n]), MESSAGES, steal[names[c], n]) for c, n in known]
    used = [Observation(names[c], n, float(np.exp(tables.cpu[at, c, n])), steal[names[c], n]) for c, n in known]
    names_of_flows = MANY_FLOWS[: len(tables.tails)]
    tails = {
        (names[c], flow): {n: float(np.exp(tables.tails[place][at, c, n])) for n in range(tables.cpu.shape[2])}
        for place, flow in enumerate(names_of_flows)
        for c in range(tables.cells)
    }
    worst = WorstFlows(
        {flow: fit(_flow_observations(flow, names, tails, steal)) for flow in names_of_flows}, tails, steal, {}
    )
    alpha = share_level(ALPHA, 3)
    later = alpha if can_differ(shares, alpha) else share_level(ALPHA, 2)
    cpu = fit(used, alpha, scale="ratio").pairs
    _, decisions = decide_in_order(
        names,
        {
            DEADLINES: lambda pairs: compare_shares(shares, pairs, alpha),
            TAIL: lambda pairs: worst.compare(pairs, later),
            CPU: lambda pairs: judge_pairs(
                [each for each in cpu if (each.a, each.b) in pairs or (each.b, each.a) in pairs], later, "ratio"
            ),
        },
    )
    return decisions


def _flow_observations(
    flow: str,
    names: Sequence[str],
    tails: dict[tuple[str, str], dict[int, float]],
    steal: dict[tuple[str, int], float],
) -> list[Observation]:
    return [Observation(name, n, value, steal[name, n]) for name in names for n, value in tails[name, flow].items()]


def false_tables(one: Workload, cells: int, rounds: int, tables: int = 1000, seed: int = 1) -> float:
    """Return the share of tables in which any criterion finds a difference between transports that are equal by this
    criterion."""
    drawn = draw_tables(one, cells, rounds, tables, seed)
    first = cells - one.effects.cells
    across = np.array([(a < first) != (b < first) for a, b in drawn.pairs])
    is_late = one.effects.is_late(cells)
    late = np.array([is_late[a] != is_late[b] for a, b in drawn.pairs])
    sizes = {DEADLINES: one.effects.missed, TAIL: one.effects.p99, CPU: one.effects.cpu}
    found = decide_all(drawn)
    true = {name: across & (size != 1) | late & (name == DEADLINES) for name, size in sizes.items()}
    false = [(found[name] != 0) & ~true[name] for name in sizes]
    return float(np.any(false, axis=(0, 2)).mean())


def found_differences(one: Workload, cells: int, rounds: int, criterion: str, tables: int = 1000) -> float:
    """Return the share of the last transport's pairs that a criterion decides correctly.

    Transports that miss ten times as many deadlines do not count.
    """
    drawn = draw_tables(one, cells, rounds, tables, 2)
    own = [
        at for at, pair in enumerate(drawn.pairs) if pair[1] == cells - 1 and not one.effects.is_late(cells)[pair[0]]
    ]
    return float((decide_all(drawn)[criterion][:, own] == -1).mean())


SETTINGS: dict[str, Workload] = {
    "no misses": Workload(equal_variances, 0.0),
    "0.04 % miss": Workload(equal_variances, 0.0004),
    "2 % miss": Workload(equal_variances, 0.02),
    "2 % miss, in clusters of 20": Workload(equal_variances, 0.02, 20),
    "30 % miss": Workload(equal_variances, 0.3),
    "quiet and noisy": Workload(quiet_and_noisy, 0.02),
    "two modes": Workload(two_modes, 0.02),
    "drift": Workload(drift, 0.02),
    "heavy tails": Workload(heavy_tails, 0.02),
    "stolen outliers": Workload(stolen_outliers, 0.02),
    "unseen outliers": Workload(unseen_outliers, 0.02),
    "unix": Workload(unix, 0.02),
    "shm": Workload(shm, 0.02),
    "8 flows": Workload(equal_variances, 0.02, flows=8),
    "8 flows, stolen outliers": Workload(stolen_outliers, 0.02, flows=8),
    "one misses 4 times as often": Workload(equal_variances, 0.01, 1, Effects(missed=4)),
    "one misses 1.5 times as often": Workload(equal_variances, 0.01, 1, Effects(missed=1.5)),
    "one misses 2 times as often, `unix`": Workload(unix, 0.01, 1, Effects(missed=2)),
    "two miss 4 times as often": Workload(equal_variances, 0.01, 1, Effects(missed=4, cells=2)),
    "two have a p99 of 1.5 times": Workload(equal_variances, 0.0, 1, Effects(p99=1.5, cells=2)),
    "all but two miss 10 times as often": Workload(equal_variances, 0.01, 1, Effects(punctual=2)),
}
POWERS: dict[str, tuple[str, Workload]] = {
    "1 % and 2 % miss": (DEADLINES, Workload(equal_variances, 0.01, 1, Effects(missed=2))),
    "1 % and 4 % miss": (DEADLINES, Workload(equal_variances, 0.01, 1, Effects(missed=4))),
    "0.1 % and 1 % miss": (DEADLINES, Workload(equal_variances, 0.001, 1, Effects(missed=10))),
    "1 % and 4 % miss, `unix`": (DEADLINES, Workload(unix, 0.01, 1, Effects(missed=4))),
    "p99 of one flow 1.5 times": (TAIL, Workload(equal_variances, 0.0, 1, Effects(p99=1.5))),
    "p99 of one flow 2 times": (TAIL, Workload(equal_variances, 0.0, 1, Effects(p99=2))),
    "p99 of one flow 2 times, `unix`": (TAIL, Workload(unix, 0.0, 1, Effects(p99=2))),
    "CPU 1.1 times": (CPU, Workload(equal_variances, 0.0, 1, Effects(cpu=1.1))),
    "p99 of one flow 1.5 times, the third one misses 10 times as often": (
        TAIL,
        Workload(equal_variances, 0.01, 1, Effects(p99=1.5, punctual=2)),
    ),
    "CPU 1.1 times, the third one misses 10 times as often": (
        CPU,
        Workload(equal_variances, 0.01, 1, Effects(cpu=1.1, punctual=2)),
    ),
}


def error_rows(tables: int) -> Iterator[str]:
    yield f"| trials | {' | '.join(f'{cells} transports' for cells in CELLS)} |"
    yield "|---|" + "---|" * len(CELLS)
    for name, one in SETTINGS.items():
        rates = [[100 * false_tables(one, cells, rounds, tables) for rounds in fits] for cells, fits in CELLS.items()]
        yield f"| {name} | {' | '.join(', '.join(f'{rate:.1f}' for rate in each) for each in rates)} |"


def power_rows(tables: int) -> Iterator[str]:
    yield f"| difference | {' | '.join(f'{rounds} rounds' for rounds in FITS)} |"
    yield "|---|" + "---|" * len(FITS)
    for name, (criterion, one) in POWERS.items():
        found = [found_differences(one, 3, rounds, criterion, tables) for rounds in FITS]
        yield f"| {name} | {' | '.join(f'{each:.2f}' for each in found)} |"


if __name__ == "__main__":
    for line in error_rows(1000):
        print(line, flush=True)
    print()
    for line in power_rows(1000):
        print(line, flush=True)
