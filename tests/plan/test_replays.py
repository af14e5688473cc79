"""Tests for the plan of a flow that replays a recording: its messages, sizes, rows and spec."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow, Replay
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.plan.workloads.replays import timing_of
from hopmeter.plan.workloads.workload_cells import rows_of
from hopmeter.report.words.workload_words import graph_lines
from tests.coded import lacking, refuses
from tests.recordings.made import START_NS, payload, write_mcap

from .capabilities import capabilities, make_plan, transport

MS = 1_000_000
SIZES = [100, 0, 900, 20, 80]
GAPS_MS = [0, 250, 300, 700, 1000]
MESSAGES = [
    (START_NS + gap * MS, payload(place, size)) for place, (gap, size) in enumerate(zip(GAPS_MS, SIZES, strict=True))
]


@pytest.fixture
def mcap(tmp_path: Path) -> Path:
    return write_mcap(tmp_path / "drive.mcap", {"/lidar": MESSAGES})


def plan_cell(mcap: Path, bus: dict[str, Any] | None = None, duration: str = "2s", **keys: Any) -> Cell:
    lidar = {"from": "camera", "to": "detector", "replay": f"{mcap}:/lidar", **keys}
    objects = {"from": "detector", "to": "camera", "after": "lidar", "payload": "bytes:30"}
    flows = {"lidar": lidar, "objects": objects}
    given = {"participant": {"camera": {}, "detector": {}}, "flow": flows, "path": {"way": {"flows": [*flows]}}}
    where = capabilities(transport("bus", **(bus or {})))
    return make_plan(where, **given, wait="block", duration=duration).cells[0]


def flow_of(cell: Cell, name: str = "lidar") -> Flow:
    assert cell.workload is not None
    return cell.workload.flow(name)


def replay_of(cell: Cell) -> Replay:
    found = flow_of(cell).replay
    assert found is not None
    return found


def test_messages_sizes_and_rate_come_from_the_recording(mcap: Path) -> None:
    flow = flow_of(plan_cell(mcap))
    assert (flow.messages, flow.warmup, flow.payload_bytes, flow.mean_bytes) == (5, 1, 900, 220)
    assert (flow.pace, flow.payload) == ("replay", "replay:drive.mcap:/lidar")
    assert flow.rate_hz == pytest.approx(4), "four gaps in a second"
    assert replay_of(plan_cell(mcap)).ends_s == pytest.approx(1.0)
    objects = flow_of(plan_cell(mcap), "objects")
    assert (objects.messages, objects.warmup) == (5, 1), "one for each message of the recording"


def test_speed_loop_and_duration_change_how_many_there_are(mcap: Path) -> None:
    assert flow_of(plan_cell(mcap, speed=0.25)).messages == 3
    assert flow_of(plan_cell(mcap, duration="600ms")).messages == 3
    looped = plan_cell(mcap, loop=True)
    assert flow_of(looped).messages == 9, "the recording lasts for 1.25 s with the gap after its last message"
    assert replay_of(looped).ends_s is None
    assert flow_of(plan_cell(mcap, loop=True, speed=4.0)).messages == 33
    assert flow_of(plan_cell(mcap, speed=4.0)).rate_hz == pytest.approx(16)


def test_the_dry_run_says_when_the_recording_ends_early(mcap: Path) -> None:
    def lines(**keys: Any) -> str:
        workload = plan_cell(mcap, **keys).workload
        assert workload is not None
        return "\n".join(graph_lines(workload)).replace("\u202f", " ")

    assert "the recording ends after 1 s of 2 s" in lines()
    assert "as recorded, 4 Hz on average" in lines() and "900 B at most" in lines()
    assert "ends with" not in lines(loop=True) and "in a loop" in lines(loop=True)
    assert "ends with" not in lines(speed=0.5) and "0.5 times as fast" in lines(speed=0.5)


def test_its_row_has_the_mean_size_and_the_largest(mcap: Path) -> None:
    whole, lidar, objects, way = rows_of(plan_cell(mcap))
    sizes = [(row["payload_bytes"], row["largest_payload_bytes"]) for row in (whole, lidar, objects, way)]
    assert sizes == [(900, 900), (220, 900), (30, 30), (220, 900)]
    assert lidar["frame_bytes"] == 284


def test_the_spec_names_the_file_and_the_largest_size(mcap: Path) -> None:
    place = TrialContext(
        "0123456789abcdef", 2, 7, Path("/d"), Path("/s"), {}, recordings={"lidar": Path("/r/lidar.replay")}
    )
    flows = {flow["number"]: flow for _, spec in node_specs(plan_cell(mcap), place) for flow in spec["flows"]}
    assert flows[0]["recording"] == "/r/lidar.replay"
    assert (flows[0]["payload_bytes"], flows[0]["payload"]) == (900, {"kind": "bytes"})
    assert (flows[0]["pace"]["kind"], flows[0]["messages"], flows[0]["warmup"]) == ("replay", 5, 1)
    assert "recording" not in flows[1]


@pytest.mark.parametrize(
    ("bus", "reason"),
    [
        ({"max_payload_bytes": 899}, "D-TOO-LARGE flow lidar: 900 899"),
        ({"varying_sizes": False}, "D-SIZES-VARY flow lidar: bus"),
    ],
)
def test_a_transport_that_cannot_carry_the_sizes_says_so(mcap: Path, bus: dict[str, Any], reason: str) -> None:
    assert lacking(plan_cell(mcap, bus).dropped, reason) == []
    assert not plan_cell(mcap).dropped


def test_a_recording_that_cannot_be_replayed_names_the_flow(mcap: Path) -> None:
    write_mcap(mcap, {"/lidar": [(1 << 63, b"")]})
    with refuses(UsageError, "E-RECORDING-TIMES flow lidar: drive.mcap:/lidar"):
        plan_cell(mcap)


def test_the_plan_is_the_same_after_it_was_stored(mcap: Path) -> None:
    one = plan_cell(mcap, speed=2.0, loop=True)
    again = Cell.from_json(json.loads(json.dumps(one.as_json())))
    assert again == one
    assert timing_of(replay_of(again)) == timing_of(replay_of(one))


def test_another_recording_is_another_table(mcap: Path) -> None:
    one = plan_cell(mcap)
    assert one.workload is not None
    other = replace(one.workload.flows[0], replay=replace(replay_of(one), speed=2.0))
    assert one.with_values(workload=replace(one.workload, flows=(other, one.workload.flows[1]))).group != one.group
