"""Tests for the pace `ramp`, at which the rate changes linearly over the trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.plan import Plan
from hopmeter.plan.make import scheduled_s
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.plan.workloads.workload_cells import rows_of
from hopmeter.report.words.pace_words import describe_pace, flow_pace, rate_words
from tests.coded import refuses

from .capabilities import capabilities, make_plan, transport

PLACE = TrialContext("0123456789abcdef", 2, 7, Path("/d"), Path("/s"), {})
RAMP: dict[str, Any] = {"pace": "ramp", "rate": 100.0, "ramp_to": 400.0}
PARTICIPANTS: dict[str, Any] = {"camera": {}, "motor": {}}


def plan(**given: Any) -> Plan:
    return make_plan(capabilities(transport("bus")), **given)


def cell(**given: Any) -> Cell:
    (found,) = [each for each in plan(**given).cells if each.axes.transport == "bus"]
    return found


def flow(**given: Any) -> Plan:
    keys = {"from": "camera", "to": "motor", **given}
    other = {"from": "motor", "to": "camera", "rate": 10}
    return plan(participant=PARTICIPANTS, flow={"frames": keys, "other": other}, duration="4s")


@pytest.mark.parametrize(("first", "last"), [(100.0, 400.0), (400.0, 100.0), (250.0, 250.0)])
def test_a_trial_has_as_many_messages_as_its_mean_rate_gives(first: float, last: float) -> None:
    one = cell(pace="ramp", rate=first, ramp_to=last, duration="4s", warmup=50)
    assert (one.axes.rate_hz, one.axes.ramp_to_hz, one.schedule.messages) == (first, last, 1000)
    assert scheduled_s(one) == pytest.approx(50 / first + 4 + one.schedule.drain_s)
    assert one.schedule.limit_s > 50 / first + 4


def test_the_source_gets_both_rates_and_other_paces_have_no_second_rate() -> None:
    ramp, steady = (node_specs(each, PLACE)[0][1]["flows"][0]["pace"] for each in (cell(**RAMP), cell(rate=100.0)))
    assert (ramp["kind"], ramp["rate_hz"], ramp["ramp_to_hz"]) == ("ramp", 100.0, 400.0)
    assert "ramp_to_hz" not in steady


def test_other_paces_of_the_same_scenario_have_no_second_rate_and_no_further_cells() -> None:
    cells = plan(**RAMP | {"pace": ["open", "ramp"], "ramp_to": [200.0, 400.0]}).cells
    found = [(each.axes.pace, each.axes.ramp_to_hz) for each in cells if each.axes.transport == "bus"]
    assert found == [("open", None), ("ramp", 200.0), ("ramp", 400.0)]


def test_a_ramp_of_a_workload_has_the_same_messages_after_its_warm_up() -> None:
    (whole,) = [each for each in flow(**RAMP).cells if each.axes.transport == "bus"]
    assert whole.workload is not None
    frames = whole.workload.flow("frames")
    assert (frames.pace, frames.rate_hz, frames.ramp_to_hz, frames.messages) == ("ramp", 100.0, 400.0, 1000)
    assert frames.first_due_s + frames.warmup / 100.0 == pytest.approx(0.2)
    assert next(row for row in rows_of(whole) if row.flow == "frames").axes.ramp_to_hz == 400.0


def test_tables_with_other_ends_of_a_ramp_differ_and_those_without_one_keep_their_ids() -> None:
    assert len({cell(**RAMP | {"ramp_to": end}).group for end in (200.0, 400.0)}) == 2
    graphs = {flow(**RAMP | {"ramp_to": end}).cells[0].graph for end in (200.0, 400.0)}
    assert len(graphs) == 2 and "" not in graphs


def test_titles_name_both_rates() -> None:
    axes = cell(**RAMP).axes
    assert rate_words(axes).split() == ["100", "Hz", "to", "400", "Hz"]
    assert describe_pace(cell(**RAMP).flat()) == f"from {flow_pace(axes).removeprefix('from ')}"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"pace": "ramp"}, "E-MISSING-KEY ramp_to"),
        ({"ramp_to": 400.0}, "E-VALUES-CONFLICT ramp_to ramp"),
        ({"pace": "closed", "ramp_to": 400.0}, "E-VALUES-CONFLICT ramp_to ramp"),
        ({"pace": "ramp", "ramp_to": 0.0}, "E-VALUE-RANGE ramp_to"),
        ({"pace": "ramp", "ramp_to": -5.0}, "E-VALUE-RANGE ramp_to"),
        ({"case": [{"pace": "ramp"}, {"pace": "open"}]}, "E-MISSING-KEY ramp_to"),
        ({"case": [{"ramp_to": 5.0}, {"pace": "open"}]}, "E-VALUES-CONFLICT ramp_to"),
    ],
)
def test_a_ramp_and_its_end_go_together(given: dict[str, Any], code: str) -> None:
    with refuses(UsageError, code):
        plan(**given)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"rate": 5, "pace": "ramp"}, "E-MISSING-KEY flow.frames.ramp_to"),
        ({"rate": 5, "ramp_to": 50}, "E-VALUES-CONFLICT flow.frames.ramp_to"),
        ({"after": "other", "ramp_to": 50}, "E-VALUES-CONFLICT flow.frames.ramp_to"),
        ({"pace": "closed", "returns": "other", "ramp_to": 50}, "E-VALUES-CONFLICT flow.frames.ramp_to"),
        ({"rate": 5, "pace": "ramp", "ramp_to": 0}, "E-VALUE-RANGE flow.frames.ramp_to"),
    ],
)
def test_in_a_workload_too(given: dict[str, Any], code: str) -> None:
    with refuses(UsageError, code):
        flow(**given)
