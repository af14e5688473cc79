"""Tests for `message:…` payloads and the files that belong to their schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.model import units
from hopmeter.schemas import CODECS, SHIPPED, find_schema, parse_message
from tests.coded import refuses

PROTO = 'syntax = "proto3";\npackage robot;\n'


def test_a_payload_names_a_file_a_type_and_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state.proto").write_text(PROTO)
    plain, sized, given = (
        parse_message(f"message:state.proto:robot.State{more}") for more in ("", ":500", ":values.txtpb")
    )
    assert (plain.file, plain.type, plain.values) == (tmp_path / "state.proto", "robot.State", 3)
    assert sized.values == 500
    assert given.values == tmp_path / "values.txtpb"
    assert units.payload_bytes("message:state.proto:robot.State") == 0, "the codec decides"


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("codec", CODECS)
def test_shipped_messages_have_a_schema_for_each_codec(name: str, codec: str) -> None:
    assert find_schema(f"message:{name}", codec).file.is_file()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("message:", "E-VALUE-FORM message:FILE:TYPE"),
        ("message:robot-sate", "E-VALUE-FORM message:robot-state"),
        ("message:state.proto", "E-VALUE-FORM"),
        ("message:state.proto:robot..State", "E-VALUE-FORM"),
        ("message:state.proto:robot.State;rm", "E-VALUE-FORM"),
        ("message:state.thrift:robot.State", "E-VALUE-FORM .proto .fbs"),
        ("message:state.proto:robot.State", "E-FILE-UNREADABLE state.proto"),
        ("message:state:robot.State", "E-FILE-UNREADABLE state.proto state.fbs"),
    ],
)
def test_what_is_no_message_is_refused(text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with refuses(RefusedValueError, reason):
        units.payload_bytes(text)


def test_lists_have_a_greatest_length(tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_text(PROTO)
    with pytest.raises(RefusedValueError, match="E-VALUE-RANGE"):
        parse_message(f"message:{tmp_path}/a.proto:robot.State:99999999999")


def test_a_path_without_a_suffix_means_the_schema_of_each_codec(tmp_path: Path) -> None:
    (tmp_path / "state.proto").write_text(PROTO)
    (tmp_path / "state.fbs").write_text("namespace robot;\n")
    (tmp_path / "robot/msg").mkdir(parents=True)
    (tmp_path / "robot/msg/State.msg").write_text("float64 x\n")
    payload = f"message:{tmp_path}/state:robot.State:values"
    schemas = [find_schema(payload, codec) for codec in CODECS]
    assert [each.file.name for each in schemas] == ["state.proto", "state.fbs", "State.msg"]
    assert [Path(str(each.values)).name for each in schemas] == ["values.txtpb", "values.json", "values.yaml"]


def test_a_codec_refuses_the_schema_of_another(tmp_path: Path) -> None:
    (tmp_path / "state.proto").write_text(PROTO)
    with refuses(UsageError, "E-SCHEMA flatbuffers state.proto .fbs"):
        find_schema(f"message:{tmp_path}/state.proto:robot.State", "flatbuffers")


def test_imports_are_found_from_the_nearest_folder_that_has_them_all(tmp_path: Path) -> None:
    folder = tmp_path / "protos/robot"
    folder.mkdir(parents=True)
    google = 'import "google/protobuf/timestamp.proto";\n'
    (folder / "state.proto").write_text(f'{PROTO}import public "robot/pose.proto";\n{google}// import "no.proto";\n')
    (folder / "pose.proto").write_text(f'{PROTO}import "robot/vector.proto";\n')
    (folder / "vector.proto").write_text(PROTO)
    schema = find_schema(f"message:{folder}/state.proto:robot.State", "protobuf")
    assert schema.imports.search == (tmp_path / "protos",)
    assert list(schema.imports.files) == ["robot/state.proto", "robot/pose.proto", "robot/vector.proto"]


def test_imports_that_are_nowhere_or_in_a_circle(tmp_path: Path) -> None:
    one, other = tmp_path / "one.fbs", tmp_path / "other.fbs"
    one.write_text('include "other.fbs";\n')
    payload = f"message:{one}:A"
    with refuses(UsageError, "E-SCHEMA one.fbs other.fbs"):
        find_schema(payload, "flatbuffers")
    other.write_text('include "one.fbs";\n')
    assert len(find_schema(payload, "flatbuffers").files) == 2
    other.write_text('include "third.fbs";\n')
    with pytest.raises(UsageError, match=r"other.fbs imports \"third.fbs\".*E-SCHEMA"):
        find_schema(payload, "flatbuffers")


def test_the_identity_changes_with_each_file_and_with_the_values(tmp_path: Path) -> None:
    main, imported, values = tmp_path / "main.proto", tmp_path / "more.proto", tmp_path / "v.txtpb"
    main.write_text(f'{PROTO}import "more.proto";\n')
    imported.write_text(PROTO)
    values.write_text("x: 1")

    def identity(more: str = ":v.txtpb") -> str:
        return find_schema(f"message:{main}:robot.State{more.replace('v.', f'{tmp_path}/v.')}", "protobuf").content_id

    seen = [identity(), identity(), identity(""), identity(":7")]
    values.write_text("x: 2")
    seen.append(identity())
    imported.write_text(f"{PROTO}// more\n")
    seen.append(identity())
    assert seen[0] == seen[1]
    assert len(set(seen)) == 5


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="E-SCHEMA"):
        find_schema(f"message:{tmp_path}/a.proto:A", "protobuf")
    with pytest.raises(UsageError, match="E-FILE-UNREADABLE"):
        _ = find_schema(
            f"message:robot-state:{tmp_path}/no.txtpb".replace("robot-state", _shipped_state()), "protobuf"
        ).content_id


def _shipped_state() -> str:
    schema = find_schema("message:robot-state", "protobuf")
    return f"{schema.file}:{schema.type}"
