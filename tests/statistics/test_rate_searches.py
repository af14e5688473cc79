"""Known truth for rankings by repeated searches: simulated transports with known highest rates."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from hopmeter.plan.search import first_rate, next_rate_in_round, rate_of_round
from hopmeter.scenario.search import Search
from hopmeter.statistics import Observation, Ranking, fit

SEARCH = Search(factor=1.2, rounds=5, lowest=1, highest=10_000_000)
TABLES = 200


def simulate(limits_hz: Sequence[float], rounds: int, noise: float, seed: int) -> Ranking:
    """Search each limit by rounds. In each step, the limit deviates from its mean by `noise` on a logarithmic scale; in
    each round, all limits share a deviation of the machine that is twice as large."""
    draw, seen, near = random.Random(seed), [], dict(enumerate(limits_hz))
    for number in range(1, rounds + 1):
        machine = draw.gauss(0, 2 * noise)
        for name, limit_hz in enumerate(limits_hz):
            first = first_rate(SEARCH, near[name], f"{seed} {name} {number}")
            verdicts: dict[float, bool] = {}
            while (rate := next_rate_in_round(SEARCH, first, verdicts)) is not None:
                verdicts[rate] = rate <= limit_hz * math.exp(machine + draw.gauss(0, noise))
            if found := rate_of_round(verdicts):
                near[name] = found
                seen.append(Observation(str(name), number, 1e6 / found))
    return fit(seen)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize(("cells", "rounds"), [(2, 5), (12, 5)])
def test_equal_rates_are_not_told_apart(cells: int, rounds: int, noise: float) -> None:
    rankings = [simulate([5000.0] * cells, rounds, noise, seed) for seed in range(TABLES)]
    false = sum(any(pair.decided for pair in ranking.pairs) for ranking in rankings) / TABLES
    assert false <= 0.065


@pytest.mark.parametrize("noise", [0.05])
def test_rates_that_differ_by_half_are_ranked(noise: float) -> None:
    rankings = [simulate([3000.0, 4500.0], 5, noise, seed) for seed in range(TABLES)]
    decided = [pair for ranking in rankings for pair in ranking.pairs if pair.decided]
    assert all(pair.a == "1" for pair in decided), "none the wrong way"
    assert len(decided) > 0.95 * TABLES


def test_the_interval_covers_the_true_rate() -> None:
    levels = [simulate([3000.0, 4500.0, 4600.0, 9000.0, 9100.0], 5, 0.02, seed).levels["0"] for seed in range(TABLES)]
    covered = sum((low or 0) <= 1e6 / 3000 <= (high or math.inf) for _, low, high in levels) / TABLES
    assert covered > 0.9
