"""Tests for typed messages of a transport: the nodes' specs, missing parts and notes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build.lacking import find_lacking
from hopmeter.build.messages import MessageTarget, TypeTarget
from hopmeter.manifest import type_code
from hopmeter.manifest.type_code import code_of
from hopmeter.model.cell import Cell
from hopmeter.plan.payloads import own_types
from hopmeter.plan.payloads.own_types import type_notes
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.schemas import library_of
from hopmeter.schemas.library import OBJECT
from hopmeter.schemas.recorded import FACTS
from hopmeter.schemas.ros2.types import RosType, payload_type
from hopmeter.system import paths
from tests.coded import lacking
from tests.recordings.made import START_NS, write_ros1
from tests.recordings.mcap_bytes import Kind, Parts, Sent, write

from .capabilities import LANGUAGE, capabilities, make_plan, transport

TYPES = {**LANGUAGE, "types": {"codec": "cdr", "packages": "interfaces"}}
BUS = transport("bus", rpc="native", max_payload_bytes=100_000, languages={"rust": LANGUAGE, "python": TYPES})
CAPABILITIES = capabilities(BUS)
STRING = ("std_msgs/msg/String", "ros2msg", "string data")


@pytest.fixture(autouse=True)
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    file = tmp_path / "prefix/share/std_msgs/msg/String.msg"
    file.parent.mkdir(parents=True)
    file.write_text("string data")
    for module in (type_code, own_types):
        monkeypatch.setattr(module, "prefixes", lambda _: [tmp_path / "prefix"])
    monkeypatch.setattr(paths, "codec_folder", lambda: tmp_path / "codecs")
    monkeypatch.setattr(own_types, "_manifests", lambda _: CAPABILITIES.manifests)
    library_of.cache_clear()
    yield tmp_path
    library_of.cache_clear()


@pytest.fixture
def state(tmp_path: Path) -> str:
    file = tmp_path / "my_msgs/msg/State.msg"
    file.parent.mkdir(parents=True)
    file.write_text("float64 speed\nstring name")
    return f"message:{file}"


def pretend_encoded(payload: str) -> Path:
    library = library_of(payload, "cdr", "python")
    library.folder.mkdir(parents=True)
    library.object.write_bytes(bytes(28))
    (library.folder / FACTS).write_text(json.dumps({"bytes": 28}))
    return library.folder


def pretend_generated(wanted: RosType) -> str:
    code = code_of(BUS, BUS.offers["python"], wanted)
    code.folder.mkdir(parents=True)
    (code.folder / FACTS).write_text(json.dumps({"framed": "x"}))
    return str(code.folder)


def plan_cell(payload: str, **given: Any) -> Cell:
    [cell] = [
        each
        for each in make_plan(CAPABILITIES, language="python", payload=payload, **given).cells
        if each.comparison.ranked
    ]
    return cell


def flow_specs(cell: Cell) -> list[dict[str, Any]]:
    place = TrialContext("a" * 16, 0, 1, Path("/d"), Path("/s"), {}, recordings={"text": Path("/r")})
    return [flow for _, spec in node_specs(cell, place) for flow in spec["flows"]]


def test_without_a_codec_a_message_is_an_object_of_its_type(state: str) -> None:
    folder, code = pretend_encoded(state), pretend_generated(payload_type(state))
    cell = plan_cell(state)
    assert (cell.dropped, cell.carriage.payload_bytes, cell.axes.touch) == ("", 28, "none")
    for flow in flow_specs(cell):
        assert flow["message"] == {"name": "my_msgs/msg/State", "code": code, "object": str(folder / OBJECT)}
        assert flow["payload_file"] == str(folder / OBJECT)
        assert "codec" not in flow


def test_what_is_missing_is_built_before_the_run(state: str) -> None:
    cell = plan_cell(state)
    assert lacking(cell.dropped, "D-MESSAGE-NOT-BUILT") == []
    library_of.cache_clear()
    pretend_encoded(state)
    cell = plan_cell(state)
    assert lacking(cell.dropped, "D-MESSAGE-NOT-BUILT my_msgs/msg/State --codec none") == []
    parts = find_lacking(make_plan(CAPABILITIES, language="python", payload=state), CAPABILITIES)[""]
    assert [type(part) for part in parts] == [TypeTarget]
    library_of.cache_clear()
    (library_of(state, "cdr", "python").folder / FACTS).unlink()
    library_of.cache_clear()
    parts = find_lacking(make_plan(CAPABILITIES, language="python", payload=state), CAPABILITIES)[""]
    assert {type(part) for part in parts} == {TypeTarget, MessageTarget}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"language": "rust"}, "D-PAYLOAD"),
        ({"pattern": "rpc", "reply": "header"}, "D-PAYLOAD echo"),
    ],
)
def test_a_cell_that_cannot_send_objects_is_dropped(state: str, given: dict[str, Any], reason: str) -> None:
    pretend_encoded(state)
    pretend_generated(payload_type(state))
    [cell] = [
        each
        for each in make_plan(CAPABILITIES, **{"language": "python", "payload": state, **given}).cells
        if each.comparison.ranked
    ]
    assert lacking(cell.dropped, reason) == []


@pytest.fixture
def ask(tmp_path: Path) -> str:
    file = tmp_path / "my_msgs/srv/Ask.srv"
    file.parent.mkdir(parents=True)
    file.write_text("int8 x\n---\nint8[9] y")
    return f"message:{file}"


@pytest.mark.parametrize("pattern", ["rpc", "scatter"])
def test_a_service_is_called_as_itself(ask: str, pattern: str) -> None:
    folder, code = pretend_encoded(ask), pretend_generated(payload_type(ask))
    cell = plan_cell(ask, pattern=pattern)
    assert (cell.dropped, cell.carriage.payload_bytes) == ("", 28)
    message = {"name": "my_msgs/srv/Ask", "code": code, "object": str(folder / OBJECT)}
    assert all(flow["message"] == message for flow in flow_specs(cell))


def test_a_service_is_not_published(ask: str) -> None:
    pretend_encoded(ask)
    pretend_generated(payload_type(ask))
    assert lacking(plan_cell(ask).dropped, "D-SCHEMA my_msgs/srv/Ask --pattern rpc") == []


def test_a_package_that_the_installation_defines_differently_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "std_msgs/msg/String.msg"
    file.parent.mkdir(parents=True)
    file.write_text("string text")
    pretend_encoded(f"message:{file}")
    assert lacking(plan_cell(f"message:{file}").dropped, f"D-SCHEMA std_msgs/msg/String {tmp_path}/prefix") == []


def replay_cell(path: Path, call: bool = False) -> Cell:
    flow = {"from": "a", ("call" if call else "to"): "b", "replay": f"{path}:/text"}
    given = {"participant": {"a": {}, "b": {}}, "flow": {"text": flow}, "wait": "block", "duration": "1s"}
    return make_plan(CAPABILITIES, language="python", **given).cells[0]


def record(folder: Path, kind: Kind) -> Path:
    path = folder / "a.mcap"
    path.write_bytes(
        write([Sent("/text", START_NS + at, bytes(12)) for at in range(5)], Parts(), kinds={"/text": kind})
    )
    return path


def test_recorded_messages_are_octets_of_their_type_without_any_code(tmp_path: Path) -> None:
    cell = replay_cell(record(tmp_path, STRING))
    assert [flow["message"] for flow in flow_specs(cell)] == [{"name": STRING[0], "code": ""}] * 2
    assert type_notes([cell], CAPABILITIES.manifests) == []
    assert find_lacking(make_plan(CAPABILITIES), CAPABILITIES) == {}


def test_the_type_of_a_recording_without_a_definition_is_that_of_the_installation(tmp_path: Path) -> None:
    cell = replay_cell(record(tmp_path, (STRING[0], "", "")))
    assert all(flow["message"]["name"] == STRING[0] for flow in flow_specs(cell))


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (("std_msgs/msg/String", "ros2msg", "string other"), "std_msgs/msg/String"),
        (("lost_msgs/msg/Lost", "", ""), "lost_msgs/msg/Lost"),
        (("lost_msgs/msg/Lost", "ros2idl", "module {};"), "lost_msgs/msg/Lost"),
        (("new_msgs/msg/New", "ros2msg", "int8 x"), "--build"),
        (("new_msgs/msg/New", "ros2msg", "new_msgs/Other x"), "new_msgs/msg/Other"),
        (("no type", "ros2msg", "int8 x"), "no type"),
    ],
)
def test_a_note_says_why_recorded_messages_are_bytes(tmp_path: Path, kind: Kind, word: str) -> None:
    cell = replay_cell(record(tmp_path, kind))
    assert not any("message" in flow for flow in flow_specs(cell))
    [note] = type_notes([cell], CAPABILITIES.manifests)
    assert word in note


def test_messages_of_ros_1_are_bytes(tmp_path: Path) -> None:
    cell = replay_cell(write_ros1(tmp_path / "a.bag", {"/text": [(START_NS + at, bytes(9)) for at in range(5)]}))
    assert not any("message" in flow for flow in flow_specs(cell))
    assert len(type_notes([cell], CAPABILITIES.manifests)) == 1


def test_the_code_of_recorded_types_is_built_although_their_cells_can_run(tmp_path: Path) -> None:
    flow = {"from": "a", "to": "b", "replay": f"{record(tmp_path, ('new_msgs/msg/New', 'ros2msg', 'int8 x'))}:/text"}
    given = {"participant": {"a": {}, "b": {}}, "flow": {"text": flow}, "wait": "block", "duration": "1s"}
    [part] = find_lacking(make_plan(CAPABILITIES, language="python", **given), CAPABILITIES)[""]
    assert isinstance(part, TypeTarget)
    assert part.wanted.name == "new_msgs/msg/New"
