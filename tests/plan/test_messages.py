"""Tests for cells with a schema message: their size, their node specs, and the reasons for dropped cells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.manifest import Manifest, Readiness, codec_interpreter
from hopmeter.model.cell import Cell
from hopmeter.plan import Plan
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.plan.workloads.workload_cells import rows_of
from hopmeter.schemas import CODECS, find_schema, library_of
from hopmeter.schemas.library import folder_of, languages
from hopmeter.schemas.recorded import FACTS, record
from hopmeter.system import paths
from tests.coded import lacking

from .capabilities import LANGUAGE, capabilities, make_plan, transport

ALL = {"rust": LANGUAGE, "c++": LANGUAGE, "python": LANGUAGE}
BUS = transport("bus", max_payload_bytes=1_000_000, languages=ALL, cross_language=True)
PAYLOAD = "message:robot-state"
SIZES = {"c++": 900, "rust": 910, "python": 920}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(paths, "codec_folder", lambda: tmp_path)
    library_of.cache_clear()
    yield tmp_path
    library_of.cache_clear()


def pretend_built(*, codec: str = "protobuf", payload: str = PAYLOAD, only: str = "") -> None:
    for language in [only] if only else languages(codec):
        there = folder_of(find_schema(payload, codec), language)
        there.mkdir(parents=True)
        (there / FACTS).write_text(json.dumps({"bytes": SIZES[language]}))


def plan(missing: str = "", **given: Any) -> Plan:
    def carrier(manifest: Manifest, _codec: str) -> Readiness:
        return Readiness(manifest.name, "python", ready=not missing, missing=missing, get="hopmeter build it")

    asked = {"language": "c++", "codec": "protobuf", "payload": PAYLOAD, **given}
    return make_plan(replace(capabilities(BUS), carrier=carrier), **asked)


def reasons(made: Plan) -> list[str]:
    return [cell.dropped for cell in made.cells if cell.comparison.ranked]


@pytest.mark.parametrize("language", ["c++", "rust", "python", "c++>rust", "rust>python", "python>c++"])
@pytest.mark.parametrize("codec", CODECS)
def test_the_language_that_encodes_decides_the_size(codec: str, language: str) -> None:
    pretend_built(codec=codec)
    (cell,) = plan(language=language, codec=codec).runnable
    assert cell.carriage.payload_bytes == SIZES[language.split(">")[0]]
    assert (cell.axes.touch, cell.axes.language) == ("none", language)


def test_one_language_is_the_first_that_is_ready() -> None:
    pretend_built()
    assert [cell.axes.language for cell in plan(language="one").runnable] == ["rust"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"codec": "none"}, "D-PAYLOAD robot-state protobuf flatbuffers"),
        ({"codec": "numpy"}, "D-PAYLOAD robot-state"),
        ({"device": "gpu"}, "D-DEVICE protobuf"),
        ({"codec": "flatbuffers"}, "D-MESSAGE-NOT-BUILT --message robot-state --codec flatbuffers --language c++`"),
        ({"payload": "message:camera-image"}, "D-MESSAGE-NOT-BUILT hopmeter --message camera-image protobuf"),
        ({"codec": "protobuf", "payload": "array:20x30"}, "D-CODEC-LANGUAGE protobuf c++"),
        ({"codec": "flatbuffers", "payload": "bytes:100"}, "D-CODEC-LANGUAGE c++"),
        ({"language": "python", "missing": "no protobuf here"}, "D-CODEC-MISSING protobuf `hopmeter"),
    ],
)
def test_what_cannot_be_is_dropped_with_its_reason(given: dict[str, Any], reason: str) -> None:
    pretend_built()
    assert [lacking(each, reason) for each in reasons(plan(**given))] == [[]]


def test_both_ends_need_the_code() -> None:
    pretend_built(only="c++")
    assert lacking(reasons(plan(language="c++>rust"))[0], "D-MESSAGE-NOT-BUILT rust`") == []
    assert reasons(plan(language="c++")) == [""]


def test_a_server_passes_the_bytes_on_and_needs_no_code() -> None:
    pretend_built(only="c++")
    assert reasons(plan(language="c++>rust", pattern="rpc")) == [""]


def test_a_machine_without_the_compiler_says_which_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = reasons(plan())[0]
    assert lacking(said, "D-NO-COMPILER apt-get protobuf-compiler g++ --message") == []


def test_a_schema_of_another_codec_or_with_a_missing_import_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_text('import "b.proto";\n')
    payload = f"message:{tmp_path}/a.proto:A"
    assert lacking(reasons(plan(payload=payload))[0], "D-SCHEMA b.proto") == []
    assert lacking(reasons(plan(payload=payload, codec="flatbuffers"))[0], "D-SCHEMA .fbs") == []


def test_a_message_beyond_the_limit_of_the_transport_is_dropped() -> None:
    there = folder_of(find_schema(PAYLOAD, "protobuf"), "c++")
    there.mkdir()
    (there / FACTS).write_text('{"bytes": 1000001}')
    assert lacking(reasons(plan())[0], "D-TOO-LARGE 1000001 bus") == []


def test_only_the_ends_get_the_code_each_in_its_language(tmp_path: Path) -> None:
    pretend_built()
    (cell,) = plan(language="c++>rust>python", relays=1).runnable
    place = TrialContext("0" * 16, 0, 1, tmp_path, tmp_path, {})
    source, relay, sink = (spec["flows"][0] for _, spec in node_specs(cell, place))
    assert Path(source["library"]).parent == folder_of(find_schema(PAYLOAD, "protobuf"), "c++")
    assert Path(source["object"]).name == "object.bin"
    assert not {"codec", "library", "object"} & relay.keys()
    assert sink["object"] == f"message:{folder_of(find_schema(PAYLOAD, 'protobuf'), 'python')}"
    assert "library" not in sink
    assert {source["payload"]["kind"], relay["payload"]["kind"]} == {"bytes"}


def test_a_changed_schema_is_built_again(tmp_path: Path) -> None:
    schema = tmp_path / "a.proto"
    schema.write_text("message A {}")
    payload = f"message:{schema}:A"
    pretend_built(payload=payload)
    assert reasons(plan(payload=payload)) == [""]
    schema.write_text("message A { }")
    assert reasons(plan(payload=payload)) == [""], "one command sees one schema"
    library_of.cache_clear()
    assert lacking(reasons(plan(payload=payload))[0], "D-MESSAGE-NOT-BUILT") == []


FLOWS = {
    "state": {"from": "robot", "to": ["screen", "log"], "rate": 100, "payload": PAYLOAD, "codec": "protobuf"},
    "ask": {"from": "log", "call": "screen", "rate": 10, "payload": PAYLOAD, "codec": "protobuf"},
    "raw": {"from": "robot", "to": "log", "rate": 10, "payload": "bytes:5"},
}
PARTICIPANTS = {"robot": {"language": "c++"}, "screen": {"language": "python"}, "log": {"language": "rust"}}


def workload(**given: Any) -> Cell:
    def carrier(manifest: Manifest, _codec: str) -> Readiness:
        return Readiness(manifest.name, "python", ready=True)

    where = replace(capabilities(BUS, machine=Machine((0, 1, 2, 3))), carrier=carrier)
    table = {"participant": PARTICIPANTS, "flow": FLOWS, "duration": "2s", "wait": "block", **given}
    (found,) = [each for each in make_plan(where, **table).cells if each.comparison.ranked]
    return found


def test_each_flow_of_a_workload_has_its_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec_interpreter, "common_codec", lambda codecs, _offer: codecs[0])
    pretend_built()
    one = workload()
    assert not one.dropped
    sizes = {row.flow: row.carriage.payload_bytes for row in rows_of(one) if row.flow}
    assert sizes == {"state": SIZES["c++"], "ask": SIZES["rust"], "raw": 5}
    robot, screen, log = (
        spec["flows"] for _, spec in node_specs(one, TrialContext("0" * 16, 0, 1, tmp_path, tmp_path, {}))
    )
    assert "library" in robot[0]
    assert "library" not in robot[1]
    assert [bool(each.get("object")) for each in screen] == [True, False], "a server passes the bytes on"
    assert [bool(each.get("library")) for each in log] == [True, True, False]


def test_a_flow_whose_code_is_not_built_names_flow_and_language() -> None:
    pretend_built(only="c++")
    assert lacking(workload().dropped, "D-MESSAGE-NOT-BUILT flow state python`") == []


PROGRAMS = {"robot": {"language": "c++"}, "screen": {"language": "rust"}}


def pretend_versions(folder: Path, language: str, files: tuple[str, str]) -> dict[str, Any]:
    """Return two flows whose messages define the same name in different files."""
    flows: dict[str, Any] = {}
    for name, file in zip(("one", "two"), files, strict=True):
        schema = folder / f"{name}.proto"
        schema.write_text(f'syntax = "proto3"; message {name} {{}}')
        payload = f"message:{schema}:{name}"
        pretend_built(payload=payload)
        facts = folder_of(find_schema(payload, "protobuf"), language) / FACTS
        facts.write_text(json.dumps({"bytes": 5, "exclusive": {"geo.Pose": f"{file} {name}"}}))
        flows[name] = {"from": "robot", "to": "screen", "rate": 10, "payload": payload, "codec": "protobuf"}
    return flows


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (("pose.proto", "pose.proto"), "D-MESSAGES-APART flow two: one.proto:one two.proto:two geo.Pose two versions"),
        (("pose.proto", "geo/pose.proto"), "D-MESSAGES-APART flow two: pose.proto geo/pose.proto --include"),
    ],
)
def test_messages_that_one_program_cannot_contain_are_refused(
    tmp_path: Path, files: tuple[str, str], reason: str
) -> None:
    flows = pretend_versions(tmp_path, "c++", files)
    assert lacking(workload(participant=PROGRAMS, flow=flows).dropped, reason) == []
    flows["two"]["from"] = "other"
    apart = {**PROGRAMS, "other": {"language": "c++"}}
    assert workload(participant=apart, flow=flows).dropped == "", "they are in different programs"


def test_messages_of_one_file_share_a_program(tmp_path: Path) -> None:
    flows = pretend_versions(tmp_path, "c++", ("pose.proto", "pose.proto"))
    for name in flows:
        facts = folder_of(find_schema(flows[name]["payload"], "protobuf"), "c++") / FACTS
        facts.write_text(json.dumps({"bytes": 5, "exclusive": {"geo.Pose": "pose.proto same"}}))
    library_of.cache_clear()
    assert (
        workload(participant={"robot": {"language": "c++"}, "screen": {"language": "rust"}}, flow=flows).dropped == ""
    )


def test_a_library_serves_a_machine_that_lost_the_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    schema = tmp_path / "a.proto"
    schema.write_text('syntax = "proto3"; message A {}')
    payload = f"message:{schema}:A"
    pretend_built(payload=payload)
    found = find_schema(payload, "protobuf")
    facts = folder_of(found, "c++") / FACTS
    recorded = record(found.file, found.include, found.imports)
    facts.write_text(json.dumps({"bytes": 900, "codec": "protobuf", "record": recorded}))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert reasons(plan(payload=payload)) == [""]
    schema.write_text('syntax = "proto3"; message A { int32 x = 1; }')
    library_of.cache_clear()
    assert lacking(reasons(plan(payload=payload))[0], "D-NO-COMPILER protobuf-compiler") == []
