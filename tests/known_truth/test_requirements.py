"""A p99 limit is judged correctly from planned delays, even if each trial is too short for a p99."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.known_truth.measuring import Case, measure

pytestmark = pytest.mark.slow

LIMIT = "p99 < 400ms"
"""A limit on p99 that is far above the delays of a busy machine."""
SHORT = {"rate": 1000, "messages": 125, "warmup": 12}
LATE_US = 600_000.0
CASES: dict[str, Case] = {
    "none late": {**SHORT, "plan": {"delay_us": 1000.0}},
    "5 % late": {**SHORT, "plan": {"late_every": 20, "late_us": LATE_US}},
    "0.8 % late": {**SHORT, "plan": {"late_every": 100, "late_us": LATE_US}},
}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    cases = {name: {**case, "trials": 9} for name, case in CASES.items()}
    return measure(tmp_path_factory.mktemp("require"), cases, "--require", LIMIT, drain="800ms").rows


def test_planned_delays_meet_or_miss_a_limit(rows: dict[str, Row]) -> None:
    assert {name: row["require"] for name, row in rows.items()} == {
        "none late": "meets",
        "5 % late": "misses",
        "0.8 % late": "undecided",
    }


def test_p99_has_an_interval_with_the_planned_delays(rows: dict[str, Row]) -> None:
    row = rows["5 % late"]
    assert LATE_US <= row["response_p99_low_us"] <= row["response_p99_us"] <= row["response_p99_high_us"]
    row = rows["0.8 % late"]
    assert row["response_p99_low_us"] < row["response_p99_us"] < 400_000
    assert row["response_p99_high_us"] is None or row["response_p99_high_us"] >= LATE_US


def test_an_undecided_limit_needs_more_rounds(rows: dict[str, Row]) -> None:
    assert (rows["0.8 % late"]["require_rounds"] or 1e9) > 9
    assert rows["none late"]["require_rounds"] is None


def test_rounds_end_when_all_rows_are_decided(tmp_path: Path) -> None:
    decided = {name: CASES[name] for name in ("none late", "5 % late")}
    measured = measure(tmp_path, decided, "--require", LIMIT, "--budget", "90s", drain="800ms")
    assert [row["require"] for row in measured.rows.values()] == ["meets", "misses"]
    looks = json.loads((measured.folder / "run.json").read_text())["looks"]
    assert all(each[-1]["open"] == [] for each in looks.values())
