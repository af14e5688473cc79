"""Tests for the plan of a workload: the participants' endpoints, the causes of messages, and the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.latency.headline import headline
from hopmeter.manifest import Manifest
from hopmeter.model.cell import Cell
from hopmeter.plan import Plan
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.plan.topology import is_chain, topology
from hopmeter.plan.workloads.workload_cells import rows_of, whole_id
from hopmeter.scenario import Scenario
from hopmeter.system.toml_files import validate
from tests.coded import lacking

from .capabilities import capabilities, transport
from .capabilities import make_plan as plan_of_capabilities

PLACE = TrialContext("0123456789abcdef", 2, 7, Path("/d"), Path("/s"), {"python": Path("/a")})
PARTICIPANTS = {
    "camera": {"fifo": 5},
    "detector": {"language": "python", "threads": 1},
    "motor": {"wait": "spin", "cores": "0"},
}
FLOWS: dict[str, dict[str, Any]] = {
    "frames": {"from": "camera", "to": ["detector", "motor"], "payload": "bytes:500", "rate": 30, "deadline": "33ms"},
    "objects": {"from": "detector", "to": "motor", "after": "frames", "every": 3, "work": "spin:4ms"},
    "state": {"from": "motor", "to": "camera", "rate": 100, "latest": "objects"},
    "ask": {"from": "camera", "call": "detector", "rate": 10, "work": "sleep:2ms", "deadline": "5ms"},
    "nested": {"from": "detector", "call": "motor", "during": "ask", "work": "spin:2ms"},
    "fused": {"from": "motor", "to": "camera", "after": ["frames", "objects"], "join": "all"},
}
FLOWS["fused"]["receiver_work"] = "spin:1ms"
PATHS = {"reaction": {"flows": ["frames", "objects", "state"], "deadline": "50ms"}}
FRAMES, DETECTOR_SINK, MOTOR_SINK, OBJECTS, OBJECTS_SINK, STATE, _, ASK, ASK_SERVER, NESTED, _, FUSED, _ = range(13)


def make_plan(*manifests: Manifest, **given: Any) -> Plan:
    table = {"cores": "free", "participant": PARTICIPANTS, "flow": FLOWS, "path": PATHS, "duration": "2s", **given}
    where = capabilities(*(manifests or (transport("bus", rpc="native"),)), machine=Machine(tuple(range(4))))
    return plan_of_capabilities(where, **{"wait": "block", **table})


def cell(*manifests: Manifest, **given: Any) -> Cell:
    (found,) = [each for each in make_plan(*manifests, **given).cells if each.axes.transport == "bus"]
    return found


def specs() -> list[dict[str, Any]]:
    return [spec for _, spec in node_specs(cell(), PLACE)]


def endpoint(number: int) -> dict[str, Any]:
    (found,) = [each for spec in specs() for each in spec["endpoints"] if each["id"] == number]
    return dict(found)


def test_each_flow_has_a_sender_and_one_end_for_each_target() -> None:
    assert [f"{each.role} {','.join(each.inputs)}>{','.join(each.outputs)}" for each in topology(cell()).endpoints] == [
        *("source >l0", "sink l0>", "sink l0>"),
        *("follower >f1.l0", "sink f1.l0>"),
        *("source >f2.l0", "sink f2.l0>"),
        *("client >f3.l0", "server f3.l0>"),
        *("follower >f4.l0", "server f4.l0>"),
        *("follower >f5.l0", "sink f5.l0>"),
    ]


def test_a_link_has_one_receiver_for_each_target() -> None:
    links = topology(cell()).links
    assert links == {"l0": 2, "f1.l0": 1, "f2.l0": 1, "f3.l0": 1, "f4.l0": 1, "f5.l0": 1}
    duplex = topology(cell(transport("bus", rpc="duplex"))).links
    assert {name for name in duplex if name.startswith("f3")} == {"f3.l0.request", "f3.l0.reply"}


AT_ONCE = FLOWS | {
    "ask": FLOWS["ask"] | {"concurrency": 3},
    "nested": {"from": "detector", "call": "motor", "after": "frames", "concurrency": 2},
}
FREE = PARTICIPANTS | {"detector": {"language": "python"}}


def test_calls_that_are_under_way_at_once_have_a_link_each_and_one_server() -> None:
    shape = topology(cell(flow=AT_ONCE, participant=FREE))
    found = [f"{each.role} {','.join(each.inputs)}>{','.join(each.outputs)}" for each in shape.endpoints]
    assert found[ASK : NESTED + 2] == [
        *("client >f3.l0,f3.l1,f3.l2", "server f3.l0,f3.l1,f3.l2>"),
        *("follower >f4.l0,f4.l1", "server f4.l0,f4.l1>"),
    ]
    assert {link: many for link, many in shape.links.items() if link[:2] in ("f3", "f4")} == dict.fromkeys(
        ["f3.l0", "f3.l1", "f3.l2", "f4.l0", "f4.l1"], 1
    )
    duplex = topology(cell(transport("bus", rpc="duplex"), flow=AT_ONCE, participant=FREE)).links
    assert len([link for link in duplex if link.startswith("f3")]) == 6


def test_a_call_to_several_servers_has_a_link_to_each() -> None:
    calls = {"ask": {"from": "camera", "call": ["detector", "motor"], "rate": 10}}
    found = topology(cell(flow=calls, path={})).endpoints
    assert [(each.inputs, each.outputs) for each in found] == [
        ((), ("l0", "l1")),
        (("l0",), ()),
        (("l1",), ()),
    ]


def test_each_call_under_way_at_once_needs_a_core_to_spin() -> None:
    ask = {"from": "camera", "call": "detector", "rate": 10}
    spinning = {"camera": {}, "detector": {"wait": "spin"}}
    one, four = ({"ask": ask | {"concurrency": many}} for many in (1, 5))
    assert not cell(flow=one, participant=spinning, path={}).dropped
    assert lacking(cell(flow=four, participant=spinning, path={}).dropped, "D-SPINNING 5 threads 4 cores") == []


def test_a_message_that_repeats_is_counted_and_told_as_often() -> None:
    flows = FLOWS | {"objects": FLOWS["objects"] | {"repeat": 5}}
    found = cell(flow=flows)
    assert found.workload is not None
    objects = found.workload.flow("objects")
    assert (objects.messages, objects.warmup) == (100, 30), (
        "five for every third frame; each warm-up message causes five"
    )
    (spec,) = [each for _, spec in node_specs(found, PLACE) for each in spec["endpoints"] if each["id"] == OBJECTS]
    assert (spec["every"], spec["repeat"]) == (3, 5)


PING_PONG = {
    "ping": {"from": "camera", "to": "detector", "pace": "closed", "returns": "pong"},
    "pong": {"from": "detector", "to": "camera", "after": "ping", "work": "spin:1us"},
    "clock": {"from": "camera", "to": "detector", "rate": 10},
}


def test_a_flow_that_returns_sends_for_a_time_and_knows_where_its_messages_return() -> None:
    found = cell(flow=PING_PONG, participant={"camera": {}, "detector": {}}, path={})
    (camera, _) = [spec for _, spec in node_specs(found, PLACE)]
    ping = camera["endpoints"][0]
    assert (ping["role"], ping["returns"], ping.get("causes")) == ("source", 3, None)
    told = {each["number"]: each for each in camera["flows"]}
    assert told[0]["window"] == {"warmup_ns": 200_000_000, "length_ns": 2_000_000_000}
    assert (told[0]["pace"]["kind"], told[0]["messages"], told[0]["warmup"]) == ("closed", 400_000, 0)
    assert not any("window" in told[number] for number in (1, 2))
    assert found.workload is not None and found.workload.flow("pong").messages == 400_000
    assert Cell.from_json(json.loads(json.dumps(found.as_json()))) == found


def test_a_flow_that_returns_is_no_ring_and_is_ranked_by_its_response() -> None:
    found = cell(flow=PING_PONG, participant={"camera": {}, "detector": {}}, path={})
    assert not found.dropped
    _, ping, *_ = rows_of(found)
    assert (ping.axes.pace, ping.axes.is_ring, ping.axes.rate_hz, headline(ping)) == ("closed", False, None, "response")


def test_the_patience_of_a_scenario_is_that_of_its_nodes() -> None:
    assert specs()[0]["call_ns"] == 10_000_000_000
    assert node_specs(cell(patience="300ms"), PLACE)[0][1]["call_ns"] == 300_000_000


def test_a_participant_is_one_node_with_all_its_endpoints() -> None:
    nodes = topology(cell()).nodes
    assert [[each.id for each in node] for node in nodes] == [[0, 6, 7, 12], [1, 3, 8, 9], [2, 4, 5, 10, 11]]
    assert [language for language, _ in node_specs(cell(), PLACE)] == ["rust", "python", "rust"]


def test_the_topology_of_one_flow_keeps_its_ids() -> None:
    (row,) = [each for each in rows_of(cell()) if each.flow == "ask"]
    assert [(each.id, each.role) for each in topology(row).endpoints] == [(ASK, "client"), (ASK_SERVER, "server")]
    assert list(topology(row).links) == ["f3.l0"]


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (OBJECTS, {"after": [DETECTOR_SINK], "join": "any", "every": 3}),
        (STATE, {"latest": OBJECTS_SINK}),
        (NESTED, {"after": [ASK_SERVER], "join": "any", "every": 1}),
        (FUSED, {"after": [MOTOR_SINK, OBJECTS_SINK], "join": "all", "every": 1}),
        (FRAMES, {}),
        (ASK, {}),
        (DETECTOR_SINK, {}),
    ],
)
def test_an_endpoint_knows_the_endpoints_that_cause_its_messages(number: int, told: dict[str, Any]) -> None:
    found = endpoint(number)
    assert {key: found[key] for key in ("after", "join", "every", "latest") if key in found} == told
    assert found.get("causes") == (f"/s/{number}.causes" if told else None)


def test_a_follower_or_the_server_of_a_call_does_the_work_of_a_flow_and_sinks_that_of_receivers() -> None:
    works = {number: endpoint(number)["work"]["kind"] for number in range(13)}
    assert {number: kind for number, kind in works.items() if kind != "none"} == {
        OBJECTS: "spin",
        ASK_SERVER: "sleep",
        NESTED + 1: "spin",
        12: "spin",
    }


def test_a_participant_has_its_own_threads_wait_cores_and_priority() -> None:
    assert [(each["threads"], each["wait"], each["fifo"]) for each in specs()] == [
        (0, "block", 5),
        (1, "block", 0),
        (0, "spin", 0),
    ]
    assert {each["core"] for each in specs()[2]["endpoints"]} == {0}


def test_asyncio_is_the_callback_of_a_participant_in_python() -> None:
    waits = {"waits": ["block", "callback"], "library": "L"}
    bus = transport("bus", languages={"rust": waits, "python": waits | {"event_loop": "asyncio"}})
    flows = {"frames": {"from": "camera", "to": "detector", "rate": 30}}
    rust, python = {"language": "rust"}, {"language": "python"}
    found = cell(bus, wait="asyncio", participant={"camera": rust, "detector": python}, flow=flows, path={})
    assert not found.dropped
    assert [spec["wait"] for _, spec in node_specs(found, PLACE)] == ["callback", "callback"]
    found = cell(bus, participant={"camera": python, "detector": rust | {"wait": "asyncio"}}, flow=flows, path={})
    assert lacking(found.dropped, "D-NOT-OFFERED (rust) asyncio") == []


def test_a_node_knows_the_flows_of_its_endpoints_alone() -> None:
    numbers = [[flow["number"] for flow in spec["flows"]] for spec in specs()]
    assert numbers == [[0, 2, 3, 5], [0, 1, 3, 4], [0, 1, 2, 4, 5]]
    assert [flow["payload_bytes"] for flow in specs()[1]["flows"]] == [500, 0, 0, 0]


def test_all_clocks_send_for_the_same_time() -> None:
    workload = cell().workload
    assert workload is not None
    counts = {flow.name: (flow.messages, flow.warmup) for flow in workload.flows}
    assert counts["frames"] == (60, 6) and counts["state"] == (200, 20)
    assert counts["objects"] == (20, 6), "a third of the samples, but each message of the warm-up"
    assert counts["nested"] == counts["ask"] == (20, 2)
    assert counts["fused"][0] == 20, "as many as the slower of the two flows has"


def test_a_trial_takes_as_long_as_its_clocks_send() -> None:
    assert make_plan(trials=3).seconds == pytest.approx(3 * (2 + 0.2 + 0.2)), "duration, warm-up, drain"


def test_each_flow_and_path_has_a_row_with_its_axes() -> None:
    whole, *rows = rows_of(cell())
    assert [row.id.removeprefix(f"{whole.id}.") for row in rows] == [*FLOWS, "reaction"]
    assert [(row.axes.pattern, row.axes.sinks) for row in rows[:4]] == [
        ("pubsub", 2),
        ("pubsub", 1),
        ("pubsub", 1),
        ("rpc", 1),
    ]
    assert [row.axes.language for row in rows[:3]] == ["rust>python", "python>rust", "rust"]
    assert [row.axes.wait for row in rows[:3]] == ["block+spin", "spin", "block"]
    assert [row.axes.rate_hz for row in rows[:2]] == [30, None]
    assert [row.deadline_s for row in (whole, *rows)] == [None, 0.033, None, None, 0.005, None, None, 0.05]
    assert {whole_id(row) for row in rows} == {whole.id}
    assert rows[-1].axes.rate_hz == 30, "a path has the axes of its first flow"


def test_nobody_asks_why_messages_of_a_workload_are_slow() -> None:
    assert not any(is_chain(row) for row in rows_of(cell()))


def test_a_workload_is_the_same_after_it_was_stored() -> None:
    one = cell()
    assert Cell.from_json(json.loads(json.dumps(one.as_json()))) == one


def test_a_scenario_with_a_workload_can_be_read_again_from_its_run(tmp_path: Path) -> None:
    made = make_plan()
    stored = made.scenario.model_dump(exclude_none=True, by_alias=True)
    assert validate(Scenario, json.loads(json.dumps(stored)), "its scenario") == made.scenario


ONLY_BLOCK = {word: {"waits": ["block"], "library": "L"} for word in ("rust", "python")}
ONLY_RUST = {"rust": {"waits": ["block", "spin"], "library": "L"}}


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"patterns": ["pubsub"], "rpc": None}, "D-NOT-OFFERED flow ask: rpc"),
        ({"max_payload_bytes": 300}, "D-TOO-LARGE flow frames: 500 300"),
        ({"languages": ONLY_RUST}, "D-NO-LANGUAGE flow frames: python"),
        ({"max_receivers": 1}, "D-RECEIVERS flow frames: 2 1"),
        ({"languages": ONLY_BLOCK}, "D-NOT-OFFERED flow frames: spin"),
    ],
)
def test_a_transport_that_cannot_carry_a_flow_says_which(manifest: dict[str, Any], reason: str) -> None:
    assert lacking(cell(transport("bus", **manifest)).dropped, reason) == []


def test_a_participant_whose_cores_are_absent_drops_the_workload() -> None:
    dropped = cell(participant=PARTICIPANTS | {"motor": {"cores": "7"}}).dropped
    assert lacking(dropped, "D-NO-CORES motor 7") == []
    assert rows_of(cell(participant=PARTICIPANTS | {"motor": {"cores": "7"}}))[1:] == []


def test_spinning_participants_need_cores_and_a_thread_for_each_flow() -> None:
    assert not cell(wait="block").dropped
    assert lacking(cell(wait="spin").dropped, "D-SPINNING-THREADS detector threads") == []
    each = PARTICIPANTS | {"detector": {}}
    assert lacking(cell(wait="spin", participant=each).dropped, "D-SPINNING 9 threads 4 cores") == []
