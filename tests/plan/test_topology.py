"""The links between nodes agree with the tables in docs/internals.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.images import Source
from hopmeter.images.decoded import Decoded
from hopmeter.plan import Cell
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.plan.topology import topology

from .capabilities import capabilities, make_plan, transport

PLACE = TrialContext("0123456789abcdef", 2, 7, Path("/d"), Path("/s"), {"python": Path("/a")})


def cell(**given: Any) -> Cell:
    native = {"rpc": "native", **given.pop("manifest", {})}
    return next(
        cell
        for cell in make_plan(capabilities(transport("bus", **native)), **given).cells
        if cell.axes.transport == "bus"
    )


def shape(**given: Any) -> list[str]:
    return [f"{one.role} {','.join(one.inputs)}>{','.join(one.outputs)}" for one in topology(cell(**given)).endpoints]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["source >l0", "sink l0>"]),
        ({"relays": 2}, ["source >l0", "relay l0>l1", "relay l1>l2", "sink l2>"]),
        ({"relays": 1, "sinks": 2}, ["source >l0", "relay l0>l1", "sink l1>", "sink l1>"]),
        ({"relays": 2, "pace": "closed"}, ["source l2>l0", "relay l0>l1", "relay l1>l2"]),
        ({"pattern": "rpc"}, ["client >l0", "server l0>"]),
        ({"pattern": "rpc", "relays": 1}, ["client >l0", "relay l0>l1", "server l1>"]),
        ({"pattern": "scatter", "sinks": 3}, ["client >l0,l1,l2", "server l0>", "server l1>", "server l2>"]),
        ({"pairs": 2}, ["source >l0", "sink l0>", "source >f1.l0", "sink f1.l0>"]),
    ],
)
def test_roles_and_links(given: dict[str, Any], expected: list[str]) -> None:
    assert shape(**given) == expected


def test_a_link_has_as_many_receivers_as_connect_to_it() -> None:
    assert topology(cell(relays=1, sinks=3)).links == {"l0": 1, "l1": 3}
    assert topology(cell(relays=1, pace="closed")).links == {"l0": 1, "l1": 1}


def test_a_call_that_is_carried_as_duplex_takes_two_links() -> None:
    duplex = {"manifest": {"rpc": "duplex"}}
    assert topology(cell(pattern="rpc", **duplex)).links == {"l0.request": 1, "l0.reply": 1}


@pytest.mark.parametrize(
    ("given", "provers"),
    [
        ({"sinks": 2}, {1, 2}),
        ({"relays": 1, "pace": "closed"}, {0}),
        ({"pattern": "rpc"}, {0}),
        ({"pattern": "scatter", "sinks": 2}, {0}),
    ],
)
def test_a_pair_is_proved_by_those_who_see_its_end(given: dict[str, Any], provers: set[int]) -> None:
    one = cell(**given)
    assert topology(one).provers(0) == provers


def test_each_language_is_where_its_name_says() -> None:
    specs = node_specs(cell(language="rust>python", relays=1), PLACE)
    assert [language for language, _ in specs] == ["rust", "rust", "python"]
    specs = node_specs(cell(language="rust>python>rust", relays=1), PLACE)
    assert [language for language, _ in specs] == ["rust", "python", "rust"]
    assert [spec["adapter"] for _, spec in specs] == [None, "/a", None]


def test_threads_share_a_node_and_take_cores_one_by_one() -> None:
    ((_, spec),) = node_specs(cell(placement="thread", relays=1), PLACE)
    assert [one["core"] for one in spec["endpoints"]] == [0, 1, 0]
    assert [one["samples"] for one in spec["endpoints"]] == ["/s/0.raw", "/s/1.raw", "/s/2.raw"]


def test_names_of_links_are_unique_and_plain() -> None:
    (_, spec), *_ = node_specs(cell(pairs=2), PLACE)
    assert [link["name"] for link in spec["links"].values()] == ["0123456789abcdef_l0", "0123456789abcdef_f1_l0"]


@pytest.mark.parametrize(
    ("work", "told"),
    [
        ("sleep:1ms/2ms", [None, 1_000_000, 2_000_000]),
        ("spin:3ms", [None, 3_000_000, 3_000_000]),
    ],
)
def test_servers_that_differ_are_each_told_their_own_work(work: str, told: list[int | None]) -> None:
    specs = node_specs(cell(pattern="scatter", sinks=2, work=work, pairs=2), PLACE)
    assert [spec["endpoints"][0]["work"].get("ns") for _, spec in specs] == told * 2


EACH = {"languages": {"rust": {"waits": ["spin", "block", "callback"], "library": "L"}}}


def test_sinks_that_wait_differently_are_each_told_how() -> None:
    one = cell(wait="callback+block", sinks=2, pairs=2, placement="thread", manifest=EACH)
    ((_, spec),) = node_specs(one, PLACE)
    assert {link["wait"] for link in spec["links"].values()} == {"block"}, "a publisher knows how polled ends wait"
    waits = [endpoint.get("wait") for endpoint in spec["endpoints"]]
    assert waits == [None, "callback", "block"] * 2


def test_a_process_is_told_how_its_own_sink_waits() -> None:
    specs = node_specs(cell(wait="callback+spin", sinks=2, manifest=EACH), PLACE)
    assert [spec["wait"] for _, spec in specs] == ["spin", "callback", "spin"]
    assert [spec["links"]["l0"]["wait"] for _, spec in specs] == ["spin"] * 3
    assert not any("wait" in spec["endpoints"][0] for _, spec in specs), "a node of before understands it"


@pytest.mark.parametrize(
    ("given", "worked"),
    [
        ({"work": "sleep:1ms/none", "sinks": 2}, ["none", "sleep", "none"]),
        ({"work": "sleep:1ms/copy:9", "sinks": 2}, ["none", "sleep", "copy"]),
        ({"work": "sleep:1ms", "sinks": 2}, ["none", "sleep", "sleep"]),
        ({"work": "sleep:1ms", "relays": 1}, ["none", "sleep", "none"]),
    ],
)
def test_sinks_work_where_there_is_no_relay_to_do_it(given: dict[str, Any], worked: list[str]) -> None:
    specs = node_specs(cell(**given), PLACE)
    assert [spec["endpoints"][0]["work"]["kind"] for _, spec in specs] == worked


def test_a_scatter_is_told_how_it_calls_its_servers() -> None:
    for dispatch in ("parallel", "sequential"):
        (_, spec), *_ = node_specs(cell(pattern="scatter", sinks=2, dispatch=dispatch), PLACE)
        assert spec["flows"][0]["dispatch"] == dispatch


def test_a_file_is_a_payload_of_its_size(tmp_path: Path) -> None:
    (tmp_path / "one.jpg").write_bytes(bytes(70))
    one = cell(payload=f"file:{tmp_path}/one.jpg")
    (_, spec), *_ = node_specs(one, PLACE)
    (flow,) = spec["flows"]
    assert (flow["payload"], flow["payload_bytes"]) == ({"kind": "bytes"}, 70)
    assert flow["payload_file"] == f"{tmp_path}/one.jpg"


@pytest.mark.parametrize("frames", [1, 7])
def test_frames_of_a_file_are_read_from_where_they_were_decoded_to(frames: int) -> None:
    source = Source("video", Path("/a/one.mp4"))
    picture = Decoded(source, Path("/d/0.rgb8"), "h264", size=(4, 2), own_size=(8, 4), frames=frames, crc32=0)
    (_, spec), *_ = node_specs(cell(payload="image:4x2"), replace(PLACE, pictures={"image:4x2": picture}))
    (flow,) = spec["flows"]
    assert flow["payload"] == {"kind": "image", "width": 4, "height": 2}
    assert (flow["payload_file"], flow["payload_bytes"], flow["payload_frames"]) == ("/d/0.rgb8", 24, frames)


@pytest.mark.parametrize(
    ("given", "ideal_s"),
    [
        ({"pattern": "scatter", "sinks": 3, "work": "sleep:30ms/40ms/50ms"}, 0.05),
        ({"pattern": "scatter", "sinks": 3, "work": "sleep:30ms/40ms/50ms", "dispatch": "sequential"}, 0.12),
        ({"pattern": "scatter", "sinks": 3, "work": "sleep:20ms", "dispatch": "sequential"}, 0.06),
        ({"pattern": "rpc", "relays": 2, "work": "spin:1ms"}, 0.003),
        ({"relays": 2, "work": "spin:1ms"}, 0.002),
        ({"pattern": "rpc", "work": "copy:7"}, None),
        ({"pattern": "rpc"}, None),
        ({"sinks": 2, "work": "sleep:1ms/2ms"}, None),
        ({"pattern": "scatter", "sinks": 2, "work": "sleep:5ms/none", "dispatch": "sequential"}, 0.005),
        ({"pattern": "scatter", "sinks": 2, "work": "sleep:5ms/spin:2ms", "dispatch": "sequential"}, 0.007),
        ({"pattern": "scatter", "sinks": 2, "work": "sleep:5ms/copy:9"}, None),
    ],
)
def test_the_ideal_is_the_work_on_the_way_alone(given: dict[str, Any], ideal_s: float | None) -> None:
    assert cell(**given).axes.ideal_s == pytest.approx(ideal_s)


def test_work_that_takes_long_has_time_for_every_message_and_reply() -> None:
    slow = cell(
        pattern="scatter", sinks=2, work="sleep:20s", dispatch="sequential", pace="closed", messages=9, warmup=1
    )
    assert slow.schedule.limit_s > 10 * 40
    (_, spec), *_ = node_specs(slow, PLACE)
    assert spec["call_ns"] > 40e9


@pytest.mark.parametrize(
    ("given", "messages"),
    [
        ({"rate": 1000, "duration": "60m"}, 3_600_000),
        ({"pace": "poisson", "rate": 50_000, "duration": "2m"}, 6_000_000),
        ({"pace": "max", "duration": "60m"}, 2_000_000),
        ({"pace": "max", "duration": "1s"}, 1_000_000),
        ({"pace": "max", "messages": 3_000_000}, 3_000_000),
    ],
)
def test_a_duration_is_never_cut_where_a_rate_says_how_many_it_has(given: dict[str, Any], messages: int) -> None:
    assert cell(**given).schedule.messages == messages


def test_a_trial_ends_by_its_time_where_it_has_nothing_else_to_end_by() -> None:
    assert cell(pace="max", duration="2s").schedule.timed
    assert not cell(pace="max", messages=9).schedule.timed
    assert not cell(duration="2s").schedule.timed


def test_how_servers_are_asked_makes_no_difference_where_none_are() -> None:
    given: dict[str, Any] = {"dispatch": ["parallel", "sequential"], "sinks": 2}
    for pattern, asked in (("pubsub", ["parallel"]), ("scatter", ["parallel", "sequential"])):
        cells = make_plan(capabilities(transport("bus")), pattern=pattern, **given).cells
        assert [cell.axes.dispatch for cell in cells if cell.axes.transport == "bus"] == asked


def test_amounts_are_in_the_units_of_the_spec() -> None:
    one = cell(
        rate=500, messages=100, warmup=10, work="sleep:2ms", relays=1, drain="50ms", spin_us=10, payload="bytes:9"
    )
    _, (_, relay), *_ = node_specs(one, PLACE)
    (flow,) = relay["flows"]
    assert flow["pace"] == {"kind": "open", "rate_hz": 500, "burst": 1, "spin_ns": 10_000, "seed": 7}
    assert relay["endpoints"][0]["work"] == {"kind": "sleep", "ns": 2_000_000}
    assert (relay["drain_ns"], flow["payload_bytes"], flow["messages"], flow["warmup"]) == (50_000_000, 9, 100, 10)
    assert relay["limit_ns"] > 110 / 500 * 1e9
    assert relay["endpoints"][0]["capacity"] >= 200
