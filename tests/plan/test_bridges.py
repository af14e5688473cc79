"""Tests for flows with their own transport: the processes of a participant, their bridges and their rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Carrier
from hopmeter.plan import Plan
from hopmeter.plan.carriers import carriers
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.rules import adapters
from hopmeter.plan.sides import OldSide, add_old_sides
from hopmeter.plan.spec import TransportContext, TrialContext, node_specs
from hopmeter.plan.topology import topology
from hopmeter.plan.workloads.workload_cells import rows_of
from tests.coded import lacking, refuses

from .capabilities import LANGUAGE, capabilities, make_plan, transport

BUS = transport("bus", rpc="native", settings={"depth": {"default": 1, "help": "H."}})
SHUTTLE = transport("shuttle", settings={"slots": {"default": 4, "help": "H."}})
PARTICIPANTS: dict[str, dict[str, Any]] = {"camera": {}, "detector": {}, "motor": {}}
FLOWS: dict[str, dict[str, Any]] = {
    "frames": {
        "from": "camera",
        "to": ["detector", "motor"],
        "payload": "bytes:500",
        "rate": 30,
        "transport": "shuttle",
    },
    "objects": {"from": "detector", "to": "motor", "after": "frames", "every": 2},
    "alarms": {"from": "detector", "to": "camera", "latest": "frames", "rate": 10},
    "ask": {"from": "motor", "call": "detector", "rate": 5, "payload": "bytes:40"},
    "nested": {"from": "detector", "call": "camera", "during": "ask", "transport": "shuttle"},
    "state": {"from": "motor", "to": "camera", "after": "objects"},
}
PATHS = {
    "reaction": {"flows": ["frames", "objects", "state"], "deadline": "50ms"},
    "served": {"flows": ["ask", "nested"]},
}
PLACE = TrialContext("0123456789abcdef", 2, 7, Path("/d"), Path("/s"), {})


def plan(*manifests: Any, unready: tuple[tuple[str, str], ...] = (), **given: Any) -> Plan:
    table = {"participant": PARTICIPANTS, "flow": FLOWS, "path": PATHS, "duration": "2s", "wait": "block", **given}
    where = capabilities(*(manifests or (BUS, SHUTTLE)), unready=unready, machine=Machine(tuple(range(4))))
    return make_plan(where, cores="free", **table)


def cell(*manifests: Any, **given: Any) -> Cell:
    (found,) = plan(*manifests, **given).cells
    return found


def alter(name: str, **keys: Any) -> dict[str, dict[str, Any]]:
    return FLOWS | {name: {key: each for key, each in {**FLOWS[name], **keys}.items() if each is not None}}


def row(whole: Cell, name: str) -> Cell:
    (found,) = [each for each in rows_of(whole) if name in (each.flow, each.path)]
    return found


def processes(whole: Cell) -> list[tuple[int, str]]:
    return [(node[0].participant, node[0].carrier.transport) for node in topology(whole).nodes]


def test_a_participant_has_a_process_for_each_transport_of_its_flows() -> None:
    assert processes(cell()) == [(0, "shuttle"), (0, "bus"), (1, "shuttle"), (1, "bus"), (2, "shuttle"), (2, "bus")]
    only = {name: keys for name, keys in FLOWS.items() if name in ("frames", "objects")}
    assert processes(cell(flow=only, path={})) == [
        (0, "shuttle"),
        (1, "shuttle"),
        (1, "bus"),
        (2, "shuttle"),
        (2, "bus"),
    ]


def test_each_process_has_its_own_spec_settings_folder_and_broker() -> None:
    whole = cell(flow=alter("frames", settings={"slots": 8}))
    site = TransportContext(Path("/d1"), {"python": Path("/b")}, "there:1", bind="0.0.0.0", advertised="10.0.0.7")
    own = next(each for each in carriers(whole) if each.settings == {"slots": 8})
    specs = [
        spec
        for _, spec in node_specs(
            whole, TrialContext("0" * 16, 0, 1, Path("/d"), Path("/s"), {}, sites={own.key: site})
        )
    ]
    found = {(spec["transport"], json.dumps(spec["settings"]), spec["directory"], spec["daemon"]) for spec in specs}
    assert ("shuttle", '{"slots": 8}', "/d1", "there:1") in found
    assert ("bus", '{"depth": 1}', "/d", "") in found
    assert ("shuttle", '{"slots": 4}', "/d", "") in found, "other settings are another process"
    assert {(spec["directory"], spec["bind"], spec["advertised"]) for spec in specs} == {
        ("/d1", "0.0.0.0", "10.0.0.7"),
        ("/d", "127.0.0.1", "127.0.0.1"),
    }


def test_a_bridge_passes_each_message_of_a_flow_on_to_the_process_that_needs_it() -> None:
    workload = cell().workload
    assert workload is not None
    frames, ask = workload.bridges
    assert (frames.name, frames.bridged_to, frames.pattern, frames.payload_bytes) == (
        "frames>objects",
        ("objects", "alarms"),
        "pubsub",
        500,
    )
    assert (ask.name, ask.bridged_to, ask.pattern, ask.payload_bytes) == ("ask>nested", ("nested",), "rpc", 40)
    assert (frames.messages, frames.every) == (workload.flow("frames").messages, 1), "`every` applies behind the bridge"
    assert (frames.source, frames.targets) == ("detector", ("detector",))


def test_the_endpoints_behind_a_bridge_are_caused_by_its_receiver() -> None:
    whole = cell()
    ends = {flow: [each.id for each in ours] for flow, ours in topology(whole).flows.items()}
    told = {each["id"]: (spec, each) for _, spec in node_specs(whole, PLACE) for each in spec["endpoints"]}
    names = (
        {flow.number: flow.name for flow in (*whole.workload.flows, *whole.workload.bridges)} if whole.workload else {}
    )
    of = {names[flow]: ids for flow, ids in ends.items()}
    for cause, bridge, flows in (("frames", "frames>objects", ["objects"]), ("ask", "ask>nested", ["nested"])):
        near, far = of[bridge]
        assert told[near][1]["after"] == [of[cause][1]]
        assert all(told[of[flow][0]][1]["after"] == [far] for flow in flows)
        assert told[near][0]["node"] != told[far][0]["node"]
    assert told[of["alarms"][0]][1]["latest"] == of["frames>objects"][1]


def test_a_bridge_is_marked_and_has_two_links_for_its_calls() -> None:
    whole = cell()
    specs = [spec for _, spec in node_specs(whole, PLACE)]
    flows = {flow["number"]: flow for spec in specs for flow in spec["flows"]}
    assert {number for number, flow in flows.items() if flow.get("bridge")} == {6, 7}
    assert (flows[7]["rpc"], flows[3]["rpc"], flows[4]["rpc"]) == ("duplex", "native", "duplex")
    assert {link for link in specs[0]["links"] if link.startswith("f7.")} == {"f7.l0.request", "f7.l0.reply"}
    assert flows[6]["payload"] == {"kind": "bytes"} and flows[6]["payload_bytes"] == 500


def test_over_the_flows_own_transport_there_is_one_process_and_no_bridge() -> None:
    one = cell(transport="shuttle")
    assert processes(one) == [(0, "shuttle"), (1, "shuttle"), (2, "shuttle")]
    assert one.workload is not None and one.workload.bridges == ()
    other = cell(transport="shuttle", flow=alter("frames", settings={"slots": 8}))
    assert other.workload is not None and [each.name for each in other.workload.bridges] == ["frames>objects"]


def test_a_row_has_the_transport_of_its_flow_and_a_flow_of_its_own_is_not_ranked() -> None:
    whole = cell(flow=alter("frames", settings={"slots": 8}))
    found = {
        each.flow or each.path: (
            each.axes.transport,
            each.carriage.profile,
            each.comparison.ranked,
            each.comparison.alongside,
        )
        for each in rows_of(whole)
    }
    ranked = dict.fromkeys(["", "objects", "alarms", "ask", "state", "reaction", "served"], ("bus", "", True, ""))
    own = {"frames": ("shuttle", "slots=8", False, "bus"), "nested": ("shuttle", "", False, "bus")}
    bridges = dict.fromkeys(["frames>objects", "ask>nested"], ("bridge", "", False, "bus"))
    assert found == ranked | own | bridges
    assert row(whole, "frames").axes.rate_hz == 30


def test_a_path_goes_over_its_bridges_and_a_path_of_own_flows_is_not_ranked() -> None:
    whole = cell()
    assert whole.workload is not None
    assert [flow.name for flow in whole.workload.route("reaction")] == ["frames", "frames>objects", "objects", "state"]
    assert [flow.name for flow in whole.workload.route("served")] == ["ask", "ask>nested", "nested"]
    own = {name: {**keys, "transport": "shuttle"} for name, keys in FLOWS.items() if name != "alarms"}
    path = row(cell(flow={**own, "alarms": FLOWS["alarms"]}), "reaction")
    assert (path.axes.transport, path.comparison.ranked, path.comparison.alongside) == ("shuttle", False, "bus")


def test_the_graph_is_the_same_over_all_transports_although_the_bridges_are_not() -> None:
    bus, shuttle = plan(transport=["bus", "shuttle"]).cells
    assert bus.workload != shuttle.workload
    assert bus.graph == shuttle.graph and bus.group == shuttle.group
    assert bus.graph != cell(flow=alter("frames", settings={"slots": 8})).graph
    rows = [row(each, "frames") for each in (bus, shuttle)]
    assert rows[0].group == rows[1].group and [each.comparison.alongside for each in rows] == ["bus", "shuttle"]


def test_the_nodes_are_those_that_the_flows_of_each_participant_need() -> None:
    python = PARTICIPANTS | {"motor": {"language": "python"}}
    flows = {name: FLOWS[name] for name in ("frames", "objects")}
    found = adapters(cell(flow=flows, path={}, participant=python))
    assert [(carrier.transport, language) for carrier, language in found] == [
        ("shuttle", "rust"),
        ("bus", "rust"),
        ("shuttle", "python"),
        ("bus", "python"),
    ]


def test_a_participant_gets_a_language_that_both_transports_have() -> None:
    rusty = transport("shuttle", languages={"python": LANGUAGE})
    found = cell(BUS, rusty, language="one")
    assert found.workload is not None
    assert {each.language for each in found.workload.participants} == {"python"}
    only = transport("shuttle", languages={"c++": LANGUAGE})
    assert lacking(cell(BUS, only, language="rust").dropped, "D-NO-LANGUAGE flow frames: shuttle rust") == []


def test_a_transport_that_is_missing_drops_the_cell_and_names_the_flow() -> None:
    (found,) = plan(unready=(("shuttle", "rust"),)).cells
    assert lacking(found.dropped, "D-NOT-BUILT flow frames: shuttle (rust)") == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"transport": "shutle"}, 'E-UNKNOWN-TRANSPORT flow.frames.transport: "shutle" "shuttle"'),
        ({"settings": {"slot": 1}}, 'E-UNKNOWN-SETTING flow.frames.settings: "slot" "slots"'),
        ({"settings": {"slots": "many"}}, "E-SETTING-VALUE flow.frames.settings.slots: many"),
    ],
)
def test_a_transport_or_setting_that_does_not_exist_is_named(keys: dict[str, Any], expected: str) -> None:
    with refuses(UsageError, expected):
        plan(flow=alter("frames", **keys))


def test_a_limit_of_threads_is_refused_for_a_participant_of_two_processes() -> None:
    limited = PARTICIPANTS | {"detector": {"threads": 2}}
    said = cell(participant=limited).dropped
    assert lacking(said, "D-SPLIT-THREADS participant detector: shuttle bus 2 processes threads") == []
    assert not cell(participant=limited, transport="shuttle").dropped


def test_calls_that_are_under_way_at_once_are_not_bridged() -> None:
    at_once = alter("ask", concurrency=3)
    assert lacking(cell(flow=at_once).dropped, "D-SPLIT-CALLS ask 3 detector") == []
    assert not cell(flow=at_once, transport="shuttle").dropped


def test_all_that_a_call_causes_behind_a_bridge_shares_a_call() -> None:
    parts = {"from": "detector", "to": "motor", "after": "ask", "repeat": 3, "transport": "shuttle"}
    whole = cell(flow={**FLOWS, "parts": parts})
    assert whole.workload is not None
    assert [(each.name, each.pattern, each.bridged_to) for each in whole.workload.bridges] == [
        ("frames>objects", "pubsub", ("objects", "alarms")),
        ("ask>nested", "rpc", ("nested", "parts")),
    ]


def test_messages_that_return_over_another_transport_are_bridged() -> None:
    ping = {"from": "camera", "to": "motor", "pace": "closed", "returns": "pong", "transport": "shuttle"}
    pong = {"from": "motor", "to": "camera", "after": "ping"}
    whole = cell(flow={"ping": ping, "pong": pong}, path={}, participant={"camera": {}, "motor": {}})
    assert whole.workload is not None
    assert [each.name for each in whole.workload.bridges] == ["pong>ping", "ping>pong"]
    told = {each["id"]: each for _, spec in node_specs(whole, PLACE) for each in spec["endpoints"]}
    ends = {flow: [each.id for each in ours] for flow, ours in topology(whole).flows.items()}
    assert told[ends[0][0]]["returns"] == ends[2][1], "the source waits for the receiver of the bridge"


def test_the_receivers_of_bridges_spin_too() -> None:
    two = {name: FLOWS[name] for name in ("frames", "objects")}
    where, table = (
        capabilities(BUS, SHUTTLE, machine=Machine(tuple(range(3)))),
        {"participant": PARTICIPANTS, "flow": two},
    )
    (found,) = make_plan(where, wait="spin", cores="free", duration="2s", **table).cells
    assert lacking(found.dropped, "D-SPINNING 4 spinning threads 3 cores") == []


def test_without_an_axis_there_is_one_cell_with_the_transports_of_all_flows() -> None:
    flows = {name: {**keys, "transport": keys.get("transport", "bus")} for name, keys in FLOWS.items()}
    whole = cell(flow=flows, transport=None)
    assert (whole.id, whole.axes.transport) == ("c1-shuttle+bus-rust", "shuttle+bus")
    assert [each.transport for each in carriers(whole)] == ["shuttle", "bus"]
    assert {each.comparison.alongside for each in rows_of(whole)} == {""}
    assert row(whole, "objects").axes.transport == "bus"
    assert row(whole, "reaction").axes.transport == "shuttle+bus"


def test_a_cell_with_bridges_is_the_same_after_it_was_stored() -> None:
    whole = cell(flow=alter("frames", settings={"slots": 8}))
    again = Cell.from_json(json.loads(json.dumps(whole.as_json())))
    assert again == whole
    assert again.workload is not None and isinstance(again.workload.flow("frames").carrier, Carrier)


def test_a_run_with_two_sides_has_no_flow_with_a_transport_of_its_own() -> None:
    where = capabilities(BUS, SHUTTLE)
    with refuses(UsageError, "E-OPTION-CONFLICT --against flow frames"):
        add_old_sides(plan(), OldSide("set:depth=2", where, lambda each: each))


def test_a_flow_alone_has_the_bridges_and_transports_of_its_chain() -> None:
    flows = {name: keys | {"deadline": "9ms"} for name, keys in FLOWS.items() if name in ("state", "frames", "ask")}
    alone = {each.comparison.alone: each for each in plan(flow=FLOWS | flows, alone=True).cells}
    assert set(alone) == {"", "state", "frames", "ask"}
    whole = topology(alone[""])
    links = {name: set(topology(each).links) for name, each in alone.items()}
    numbers = {name: {end.flow for end in topology(each).endpoints} for name, each in alone.items()}
    bridge = next(each.number for each in alone[""].workload.bridges if "objects" in each.bridged_to)
    assert numbers["state"] == {0, 1, 5, bridge} and numbers["frames"] == {0} and numbers["ask"] == {3}
    assert all(each <= set(whole.links) for each in links.values())
    used = {name: [each.transport for each in carriers(one)] for name, one in alone.items()}
    assert (used["state"], used["frames"], used["ask"]) == (["shuttle", "bus"], ["shuttle"], ["bus"])
    assert processes(alone["ask"]) == [(1, "bus"), (2, "bus")]
