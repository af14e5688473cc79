"""Verdicts from one interval, and what looks spend."""

import pytest

from hopmeter.statistics import spend, verdict


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.06, 1.2, "much_slower"),
        (1.01, 1.2, "slower"),
        (1.01, 1.04, "same"),
        (0.96, 0.99, "same"),
        (0.97, 1.03, "same"),
        (0.9, 0.99, "faster"),
        (0.8, 0.9, "much_faster"),
        (0.9, 1.2, "undecided"),
        (1.0, 1.2, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_verdicts_do_not_overlap(low: float | None, high: float | None, expected: str) -> None:
    assert verdict(1.0, low, high) == expected


def test_looks_spend_the_level_once() -> None:
    spent = 0.0
    levels = []
    for share in (0.25, 0.5, 0.75, 1):
        levels.append(spend(share, spent))
        spent += levels[-1]
    assert spent == pytest.approx(0.05)
    assert levels == sorted(levels)
    assert levels[0] < 0.001
    assert spend(1, 0) == pytest.approx(0.05)
    assert spend(0.5, 0.05) == 0
    assert spend(0, 0) == 0
