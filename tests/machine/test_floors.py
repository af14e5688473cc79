"""Floors are measured by an ordinary scenario; unresolved percentiles are not shown."""

from __future__ import annotations

import pytest

from hopmeter.machine import floors
from hopmeter.machine.trust import trust
from hopmeter.scenario import load

CELL = {
    "transport": "shm",
    "wait": "block",
    "cores": "same",
    "status": "ok",
    "service_p50_us": 2.25,
    "service_p90_us": None,
}


def test_the_scenario_of_the_floors_is_a_valid_one() -> None:
    scenario, _ = load(floors.SCENARIO)
    assert {name for case in scenario.case for name in case.transport or []} == {"memory", "shm"}


def test_a_floor_is_told_and_a_percentile_that_is_not_resolved_is_not() -> None:
    (found,) = floors.judge({"cells": [CELL], "failed": ""})
    assert (found["code"], found["level"]) == ("F-FLOORS", "good")
    assert "2.25 us" in found["says"] and "too few messages for p90" in found["says"]


def test_a_cell_that_was_dropped_gives_its_reason() -> None:
    dropped = {**CELL, "status": "dropped", "reason": "shm is not built [D-NOT-BUILT]", "service_p50_us": None}
    (found,) = floors.judge({"cells": [dropped], "failed": ""})
    assert (found["level"], found["says"]) == ("unknown", "shm is not built")


def test_a_run_that_fails_is_a_finding_and_no_crash() -> None:
    (found,) = floors.judge({"cells": [], "failed": "no scenario"})
    assert (found["level"], found["says"]) == ("unknown", "no scenario")


@pytest.mark.parametrize(
    ("wait", "p50_us", "p90_us", "level"),
    [
        ("spin", 0.3, 0.5, "good"),
        ("spin", 380.0, 900.0, "hurts"),
        ("callback", 380.0, 900.0, "hurts"),
        ("block", 28.0, 60.0, "good"),
        ("block", 120.0, 300.0, "hurts"),
        ("block", 28.0, 1200.0, "note"),
    ],
)
def test_a_floor_is_judged_by_what_such_a_hop_takes_on_idle_cores(
    wait: str, p50_us: float, p90_us: float, level: str
) -> None:
    cell = {**CELL, "wait": wait, "service_p50_us": p50_us, "service_p90_us": p90_us}
    (found,) = floors.judge({"cells": [cell], "failed": ""})
    assert found["level"] == level
    assert bool(found["remedy"]) == (level != "good")
    assert (f"shm {wait} same" in trust([found])) == (level == "hurts")
