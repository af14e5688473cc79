"""Tests that attribute a slow message's latency to thread states, with synthetic thread readings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.cost.slow_messages import PARTS, why_columns
from hopmeter.model.trial import TrialResult
from hopmeter.store.why_folder import WhyFolder
from tests.analysis import made
from tests.coded import lacking
from tests.store.raw import write_raw
from tests.store.readings import ARRIVED, DONE, SEND, SENT, Step, write_readings

MESSAGES, PERIOD_US = 1200, 1000
USUAL_US, SLOW_US = 50, 950
SLOW = range(50, MESSAGES, 100)
"""The numbers of the slow messages; with every hundredth message slow, these are the slowest 1 %."""
Plan = dict[str, Any]
"""The events that make a message slow; `source` and `sink` define them."""


def due(seq: int) -> int:
    return seq * PERIOD_US


def source(plan: Plan) -> list[Step]:
    """A source that sleeps until a message is due, and sends the message within 10 µs."""
    steps = []
    for seq in range(MESSAGES):
        late, held = (plan.get("late", 0), plan.get("held", 0)) if seq in SLOW else (0, 0)
        steps.append(Step(seq, SEND, due(seq) + late, 1, late, slept=True))
        steps.append(Step(seq, SENT, due(seq) + late + 10 + held, 10, held, faults=plan.get("sent_faults", 0)))
    return steps


def sink(plan: Plan) -> list[Step]:
    """A sink that sleeps until a message arrives, and handles the message for 10 µs."""
    steps = []
    for seq in range(MESSAGES):
        slow, next_slow = seq in SLOW, seq + 1 in SLOW
        arrived, waiting = due(seq) + (SLOW_US if slow else USUAL_US), plan.get("waiting", {}) if slow else {}
        steps.append(Step(seq, ARRIVED, arrived, **{"running_us": 5, "slept": True, **waiting}))
        busy = plan.get("busy", 0) + PERIOD_US - USUAL_US - 10 if "busy" in plan and next_slow else 0
        steps.append(Step(seq, DONE, arrived + 10 + busy, 10 + busy, faults=3 if slow else 1))
    return steps


@pytest.fixture
def why(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def explain(plan: Plan, change: Callable[[Step], Step] = lambda step: step) -> dict[str, Any]:
        late = {seq: plan.get("late", 0) for seq in SLOW}
        sent = [{"seq": n, "due": 1000 * due(n), "sent": 1000 * (due(n) + late.get(n, 0))} for n in range(MESSAGES)]
        took = [SLOW_US if n in SLOW else USUAL_US for n in range(MESSAGES)]
        arrived = [{"seq": n, "arrived": 1000 * (due(n) + us)} for n, us in enumerate(took)]
        raw = [write_raw(tmp_path / f"{who}.raw", who, rows) for who, rows in ((0, sent), (1, arrived))]
        for who, steps in ((0, source(plan)), (1, sink(plan))):
            write_readings(tmp_path / f"{who}.readings", who, [change(step) for step in steps])
        cell = made.cell(messages=MESSAGES)
        result = TrialResult(cell.id, 1, good=True, wall_s=2.0, steal_us=20_000.0)
        WhyFolder(tmp_path).add(result, raw)
        return why_columns(cell, tmp_path)

    return explain


CAUSES: dict[str, tuple[Plan, str, float]] = {
    "the core is taken when the sink wakes": ({"waiting": {"queued_us": 900}}, "core_wait", 900),
    "the core is taken when the source wakes": ({"late": 900}, "core_wait", 900),
    "the source loses its core within its call": ({"held": 900}, "core_wait", 900),
    "the message is in the transport": ({}, "waking", 935),
    "the sink is busy with the message before": ({"busy": 900}, "behind", 900),
    "a spinning sink polls": ({"waiting": {"running_us": 1890, "slept": False}}, "running", 950),
    "the hypervisor takes the core of a spinning sink": (
        {"waiting": {"running_us": 990, "slept": False}},
        "stolen",
        900,
    ),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_planned_cause_has_its_share(why: Callable[..., dict[str, Any]], name: str) -> None:
    plan, part, planned_us = CAUSES[name]
    columns = why(plan)
    assert columns["why_note"] is None
    assert (columns["why_messages"], columns["why_over_us"], columns["why_mean_us"]) == (12, SLOW_US, SLOW_US)
    assert columns["why_p50_us"] == USUAL_US
    assert columns[f"why_{part}"] == pytest.approx(planned_us / SLOW_US, abs=0.011)
    assert sum(columns[f"why_{each}"] for each in (*PARTS, "unknown")) == pytest.approx(1)
    assert columns["why_unknown"] == pytest.approx(0, abs=1e-9)


def test_page_faults_are_counted_by_message_and_steal_by_time(why: Callable[..., dict[str, Any]]) -> None:
    columns = why({"sent_faults": 2})
    assert (columns["why_minor_faults"], columns["why_usual_minor_faults"]) == (5, 3)
    assert columns["why_major_faults"] == 0
    assert columns["why_steal_percent"] == pytest.approx(1)


def test_a_kernel_that_does_not_count_waiting_is_named(why: Callable[..., dict[str, Any]]) -> None:
    columns = why({}, lambda step: Step(**{**vars(step), "queued_us": None}))
    assert columns["why_core_wait"] is None
    assert columns["why_waking"] > 0.9
    assert not lacking(columns["why_note"], "W-WHY-NO-SCHEDSTAT")


def test_time_between_two_threads_is_unknown(why: Callable[..., dict[str, Any]]) -> None:
    def elsewhere(step: Step) -> Step:
        return Step(**{**vars(step), "thread": 1 + (step.mark == DONE)})

    columns = why({}, elsewhere)
    assert columns["why_unknown"] > 0.9
    assert columns["why_waking"] == 0


def test_without_the_extra_trial_the_note_says_why(tmp_path: Path) -> None:
    cell = made.cell(messages=MESSAGES)
    assert not lacking(why_columns(cell, tmp_path)["why_note"], "W-WHY-NOT-MEASURED")
    assert not lacking(why_columns(made.cell(pattern="scatter"), tmp_path)["why_note"], "W-WHY-NO-CHAIN")
    old = "it failed: unknown field `readings`, expected one of `id`, `role` [E-NODE]"
    WhyFolder(tmp_path).add(TrialResult(cell.id, 1, good=False, reason=old), [])
    assert not lacking(why_columns(cell, tmp_path)["why_note"], f"W-WHY-OLD-NODE {cell.axes.transport}")


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: b"x" + content[1:], lambda _: b""])
def test_damaged_readings_are_no_result(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    cell = made.cell(messages=MESSAGES)
    raw = write_raw(tmp_path / "0.raw", 0, made.messages(5))
    path = write_readings(tmp_path / "0.readings", 0, [Step(0, SEND, 1)])
    path.write_bytes(damage(path.read_bytes()))
    WhyFolder(tmp_path).add(TrialResult(cell.id, 1, good=True), [raw])
    assert not lacking(why_columns(cell, tmp_path)["why_note"], "E-FILE-DAMAGED")
