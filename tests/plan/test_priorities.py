"""Tests for SCHED_FIFO priorities: system limits, and priorities that would starve other threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hopmeter.plan.placement.cores import Machine
from tests.coded import lacking

from .capabilities import capabilities, make_plan, transport

FLOWS = {
    "there": {"from": "one", "to": "other", "rate": 10},
    "back": {"from": "other", "call": "one", "rate": 10},
}


def drop_reason(one: dict[str, Any], other: dict[str, Any], cores: int = 4, highest: int = 99, **given: Any) -> str:
    where = capabilities(transport("bus", rpc="native"), machine=Machine(tuple(range(cores))))
    table = {"participant": {"one": one, "other": other}, "flow": FLOWS, "cores": "free", **given}
    return make_plan(replace(where, highest_priority=highest), **table).cells[0].dropped


SPIN = {"wait": "spin", "fifo": 10}
"""The settings of a spinning participant with a SCHED_FIFO priority."""


@pytest.mark.parametrize(
    ("one", "other", "cores", "reason"),
    [
        ({"fifo": 10}, {"fifo": 20}, 1, ""),
        (SPIN, {}, 4, ""),
        (SPIN, {}, 2, ""),
        (SPIN, {}, 1, "D-FIFO-SPINNING participant.one.fifo 10 spin 1 of 1 cores"),
        ({}, SPIN, 3, ""),
        ({}, SPIN, 2, "D-FIFO-SPINNING participant.other.fifo 10 spin 2 of 2 cores"),
        (SPIN, SPIN, 4, ""),
        (SPIN, SPIN, 3, "D-FIFO-SPINNING participant.other.fifo 3 of 3 cores"),
        ({"wait": "spin"}, {"wait": "spin"}, 3, ""),
        (SPIN | {"cores": "1"}, {}, 4, "D-FIFO-SPINNING participant.one.fifo core 1"),
        ({}, SPIN | {"cores": "2"}, 4, "D-FIFO-SPINNING participant.other.fifo core 2"),
        (SPIN | {"cores": "1,2"}, {"cores": "2"}, 4, "D-FIFO-SPINNING participant.one.fifo core 2"),
        (SPIN | {"cores": "1,2"}, {"cores": "3"}, 4, ""),
    ],
)
def test_a_spinning_thread_with_a_priority_needs_a_core_and_leaves_one(
    one: dict[str, Any], other: dict[str, Any], cores: int, reason: str
) -> None:
    assert lacking(drop_reason(one, other, cores), reason) == []


def test_a_priority_that_the_system_forbids_names_participant_and_key() -> None:
    assert lacking(drop_reason({"fifo": 10}, {}, highest=0), "D-NO-REAL-TIME participant.one.fifo 10 none rtprio") == []
    assert lacking(drop_reason({}, {"fifo": 21}, highest=20), "D-NO-REAL-TIME participant.other.fifo 21 20") == []
    assert drop_reason({"fifo": 10}, {"fifo": 20}, highest=20) == ""


def test_the_priority_of_the_scenario_is_the_default_of_participants() -> None:
    assert lacking(drop_reason({}, {}, highest=0, fifo=7), "D-NO-REAL-TIME participant.one.fifo 7") == []
    assert lacking(drop_reason({"fifo": 0}, {}, highest=0, fifo=7), "D-NO-REAL-TIME participant.other.fifo 7") == []
    assert drop_reason({"fifo": 0}, {"fifo": 0}, highest=0, fifo=7) == ""


def test_each_call_that_may_be_under_way_has_a_spinning_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FLOWS["back"], "concurrency", 3)
    assert drop_reason(SPIN, {}, cores=4) == ""
    assert lacking(drop_reason(SPIN, {}, cores=3), "D-FIFO-SPINNING participant.one.fifo 3 of 3 cores") == []
    pinned = SPIN | {"cores": "1,2"}
    assert lacking(drop_reason(pinned, {"cores": "0"}, cores=8), "D-FIFO-SPINNING participant.one.fifo core 2") == []
