"""Tests for workloads in the report: titles, the graph as text and figure, and the answer about deadlines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hopmeter.model.workload import Carrier, Flow, Participant, Path, Workload
from hopmeter.report.figures.graph_layout import frame_hosts, place_participants
from hopmeter.report.figures.workload_graph import _box_words, _edges, _with_processes
from hopmeter.report.words.workload_words import graph_lines

FLOWS: list[dict[str, Any]] = [
    {"name": "frames", "source": "camera", "targets": ("detector", "display"), "rate_hz": 30.0, "deadline_s": 0.033},
    {"name": "objects", "source": "detector", "targets": ("motor",), "after": ("frames",), "work": "spin:4ms"},
    {"name": "ask", "source": "display", "targets": ("detector",), "pattern": "rpc", "rate_hz": 5.0, "concurrency": 4},
    {"name": "tokens", "source": "detector", "targets": ("display",), "after": ("ask",), "repeat": 50},
    {"name": "ping", "source": "display", "targets": ("detector",), "pace": "closed", "returns": "tokens"},
]


@pytest.fixture
def workload() -> Workload:
    names = ("camera", "detector", "display", "motor")
    participants = tuple(
        Participant(name, "c++", "block", threads="1" if name == "detector" else "per-flow") for name in names
    )
    flows = tuple(Flow(number, "bytes:2000", 2000, **each) for number, each in enumerate(FLOWS))
    return Workload(participants, flows, (Path("reaction", ("frames", "objects"), 0.05),))


def test_the_graph_as_text_has_a_line_for_each_part(workload: Workload) -> None:
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in graph_lines(workload)}
    assert lines["detector"] == "c++, wait block, at most 1 message at once"
    assert lines["frames"].startswith("camera → detector and display, 2 kB")
    assert lines["frames"].endswith("deadline 33 ms")
    assert lines["objects"].endswith("after frames, work spin:4ms")
    assert lines["ask"].startswith("display calls detector") and lines["ask"].endswith("up to 4 at once")
    assert lines["tokens"].endswith("after ask, 50 messages each time")
    assert lines["ping"].endswith("next message when tokens returns")
    assert lines["reaction"] == "frames → objects, deadline 50 ms"


def test_receivers_are_drawn_below_their_senders_and_no_two_boxes_overlap(workload: Workload) -> None:
    places = place_participants(workload)
    assert set(places) == {"camera", "detector", "display", "motor"}
    assert places["camera"][1] < places["detector"][1] < places["motor"][1]
    assert len(set(places.values())) == len(places)


def test_each_receiver_of_a_flow_has_an_arrow_and_a_late_flow_is_marked(workload: Workload) -> None:
    edges = _edges(workload.flow("frames"), place_participants(workload), True, workload)
    assert [edge["late"] for edge in edges] == [True, True]
    assert all(edge["y2"] > edge["y"] for edge in edges), "the arrows lead down, from the edge of one box to another"


@pytest.fixture
def gateway(workload: Workload) -> Workload:
    """A workload whose detector receives frames over a different transport from the transport of its objects."""
    frames, *others = workload.flows
    split = tuple(
        replace(each, transports=("iceoryx2", "zenoh")) if each.name == "detector" else each
        for each in workload.participants
    )
    bridge = Flow(
        3,
        "bytes:2000",
        2000,
        "frames>objects",
        "detector",
        ("detector",),
        after=("frames",),
        bridged="frames",
        bridged_to=("objects",),
    )
    own = replace(frames, carrier=Carrier("iceoryx2"))
    return replace(workload, participants=split, flows=(own, *others), bridges=(bridge,))


def test_the_graph_as_text_names_the_processes_the_own_transport_and_the_bridge(gateway: Workload) -> None:
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in graph_lines(gateway)}
    assert lines["detector"].endswith("2 processes: iceoryx2 and zenoh")
    assert "over iceoryx2" in lines["frames"] and "over" not in lines["objects"]
    assert lines["frames>objects"] == "bridge in detector: passes frames on to objects, 2 kB"


def test_a_participant_of_two_processes_is_two_boxes_with_the_bridge_between_them(gateway: Workload) -> None:
    drawn = _with_processes(gateway, "zenoh")
    places = place_participants(drawn)
    near, far = "detector\niceoryx2", "detector\nzenoh"
    assert set(places) == {"camera", near, far, "display", "motor"}
    assert places["camera"][1] < places[near][1] < places[far][1] < places["motor"][1]
    (edge,) = _edges(drawn.flows[1], places, False, drawn)
    assert edge["label"].startswith("bridge frames>objects") and edge["y2"] > edge["y"]
    assert edge["bridge"] and not _edges(drawn.flows[0], places, False, drawn)[0]["bridge"]
    words = _box_words(near, (0, 50), {})
    assert (words["name"], words["below"]) == ("detector", "iceoryx2") and words["name_y"] < 50 < words["below_y"]
    assert _box_words("camera", (0, 50), {}) == {"name": "camera", "below": "", "name_y": 50, "below_y": 58}
    assert _box_words("camera", (0, 50), {"camera": "3.1 % CPU"})["below"] == "3.1 % CPU"


def test_the_frame_of_a_host_has_its_participants_and_no_others(workload: Workload) -> None:
    hosts = {"camera": "robot", "detector": "robot", "display": "station", "motor": "robot"}
    placed = replace(
        workload, participants=tuple(replace(each, host=hosts[each.name]) for each in workload.participants)
    )
    places = place_participants(placed)
    frames = {each["host"]: each for each in frame_hosts(placed, places)}
    assert list(frames) == ["robot", "station"] and frames["robot"]["x2"] < frames["station"]["x"]
    for name, (x, y) in places.items():
        inside = [host for host, each in frames.items() if each["x"] < x < each["x2"] and each["y"] < y < each["y2"]]
        assert inside == [hosts[name]]
    assert frame_hosts(workload, place_participants(workload)) == []


def test_flows_in_both_directions_between_two_participants_lie_side_by_side(workload: Workload) -> None:
    there = Flow(0, "timing", 0, "there", "camera", ("motor",), rate_hz=1.0)
    back = replace(there, number=1, name="back", source="motor", targets=("camera",))
    both = replace(workload, flows=(there, back))
    edges = [_edges(flow, place_participants(both), False, both)[0] for flow in both.flows]
    assert abs(edges[0]["label_x"] - edges[1]["label_x"]) >= 20
