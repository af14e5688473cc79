"""Tests for the achieved background load: its median over the trials, and the warning about a low load."""

from __future__ import annotations

import pytest

from hopmeter.analysis.cells.background_load import columns, shortfalls
from hopmeter.model.trial import TrialResult
from tests.coded import lacking

BOTH = {"cpu": "50%", "memory": "2GB/s"}


def trial(cpu_percent: float | None, memory_gb_s: float | None) -> TrialResult:
    return TrialResult("c1", 0, good=True, background_cpu_percent=cpu_percent, background_memory_gb_s=memory_gb_s)


def test_a_row_has_the_median_of_its_trials() -> None:
    found = columns([trial(40, 2.0), trial(50, 1.0), trial(48, None)])
    assert found == {"background_cpu_percent": 48, "background_memory_gb_s": 1.5}
    assert columns([trial(None, None)]) == dict.fromkeys(found)


@pytest.mark.parametrize(
    ("cpu_percent", "memory_gb_s", "expected"),
    [
        (50, 2.0, []),
        (45.1, 1.81, []),
        (44, 2.0, ["W-BACKGROUND 44 50"]),
        (50, 1.7, ["W-BACKGROUND 1.7 2 GB/s"]),
        (10, 0.5, ["W-BACKGROUND 10 50", "W-BACKGROUND 0.5 2 GB/s"]),
        (None, None, []),
    ],
)
def test_less_than_nine_tenths_is_warned_of(
    cpu_percent: float | None, memory_gb_s: float | None, expected: list[str]
) -> None:
    said = shortfalls(columns([trial(cpu_percent, memory_gb_s)]), BOTH)
    assert [lacking(*each) for each in zip(said, expected, strict=True)] == [[]] * len(expected)


def test_a_run_without_a_load_has_no_warning() -> None:
    assert shortfalls(columns([trial(None, None)]), None) == []
