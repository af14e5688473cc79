"""Invalid schemas: the error contains the compiler's line, or names what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hopmeter.build.command import BuildError
from hopmeter.build.messages import MessageTarget, build_library, libraries
from hopmeter.errors import HopmeterError
from hopmeter.schemas.compilers import first_error
from hopmeter.system import paths
from tests.coded import lacking, refuses

PROTO = 'syntax = "proto3";\npackage robot;\n'
FLAT = "namespace robot;\n"


@pytest.mark.parametrize(
    ("name", "text", "type_", "reason"),
    [
        ("a.proto", f"{PROTO}message State {{ double x = ; }}\n", "robot.State", "E-SCHEMA protoc a.proto:3:"),
        ("a.proto", f"{PROTO}message State {{ Pose x = 1; }}\n", "robot.State", 'E-SCHEMA a.proto:3: "Pose" defined'),
        (
            "a.proto",
            f"{PROTO}message State {{ double x = 1; }}\n",
            "robot.Sate",
            'E-SCHEMA-TYPE a.proto "robot.State"?',
        ),
        ("a.proto", f"{PROTO}message State {{ double x = 1; }}\n", "State", "E-SCHEMA-TYPE a.proto robot.State"),
        ("a.proto", "", "robot.State", "E-SCHEMA-TYPE a.proto"),
        ("a.fbs", f"{FLAT}table State {{ x:double }}\n", "robot.State", "E-SCHEMA flatc a.fbs:2:"),
        ("a.fbs", f"{FLAT}table State {{ x:Pose; }}\n", "robot.State", "E-SCHEMA Pose"),
        ("a.fbs", f"{FLAT}table State {{ x:double; }}\n", "robot.Sate", 'E-SCHEMA-TYPE a.fbs "robot.State"?'),
        ("a.fbs", f"{FLAT}struct State {{ x:double; }}\n", "robot.State", "E-SCHEMA-TYPE a.fbs table"),
    ],
)
def test_a_faulty_schema_is_named_with_its_line(
    tmp_path: Path, log: Path, name: str, text: str, type_: str, reason: str
) -> None:
    (tmp_path / name).write_text(text)
    codec = "protobuf" if name.endswith(".proto") else "flatbuffers"
    with pytest.raises(HopmeterError) as failed:
        build_library(MessageTarget(f"message:{tmp_path / name}:{type_}", codec, "c++"), log)
    assert lacking(failed.value.message, reason) == []
    assert failed.value.remedy
    assert not list(paths.codec_folder().glob(f".*{os.getpid()}")), "nothing is left of the attempt"


def test_generated_code_that_encodes_nothing_in_time_is_no_library(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "PATIENCE_S", 0)
    (tmp_path / "a.proto").write_text(f"{PROTO}message State {{ double x = 1; }}\n")
    with refuses(BuildError, "E-SCHEMA robot.State 0"):
        build_library(MessageTarget(f"message:{tmp_path / 'a.proto'}:robot.State", "protobuf", "python"), log)
    assert not list(paths.codec_folder().glob(f".*{os.getpid()}")), "nothing is left of the attempt"


@pytest.mark.parametrize(
    ("name", "text", "values", "reason"),
    [
        ("a.proto", f"{PROTO}message State {{ double x = 1; }}\n", "x: 1\ny: 2\n", 'E-SCHEMA values :2: "y"'),
        ("a.fbs", f"{FLAT}table State {{ x:double; }}\n", '{"x": 1,\n"y": 2}', "E-SCHEMA values.json:2: y"),
    ],
)
def test_faulty_values_are_named_with_their_line(
    tmp_path: Path, log: Path, name: str, text: str, values: str, reason: str
) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "values").write_text(values)
    given = tmp_path / ("values.txtpb" if name.endswith(".proto") else "values.json")
    given.write_text(values)
    codec = "protobuf" if name.endswith(".proto") else "flatbuffers"
    with pytest.raises(BuildError) as failed:
        build_library(MessageTarget(f"message:{tmp_path / name}:robot.State:{given}", codec, "c++"), log)
    assert lacking(failed.value.message, reason) == []


@pytest.mark.parametrize(
    ("codec", "language", "package"),
    [("protobuf", "c++", "protobuf-compiler"), ("cdr", "rust", "cargo"), ("cdr", "c++", "g++")],
)
def test_a_machine_without_the_compiler_names_the_packages(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch, codec: str, language: str, package: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError) as failed:
        build_library(MessageTarget("message:robot-state", codec, language), log)
    assert failed.value.code == "E-PACKAGES-MISSING"
    assert "apt-get install" in failed.value.remedy
    assert package in failed.value.remedy


def test_the_first_line_with_a_place_is_the_error() -> None:
    assert first_error("warning\nerror:\n  /a/b.fbs:3: 8: error: expecting\nmore") == "/a/b.fbs:3: 8: error: expecting"
    assert first_error("no place\n") == "no place"
    assert first_error("") == "it printed no reason"


def test_the_command_shows_each_result(hopmeter_here: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_text(f"{PROTO}message State {{ double x = ; }}\n")
    done = hopmeter_here("build", "--message", "a.proto:robot.State", "--language", "c++")
    assert done.returncode == 1  # type: ignore[attr-defined]
    assert lacking(done.stdout, "E-SCHEMA a.proto:3:") == []  # type: ignore[attr-defined]
    lost = hopmeter_here("build", "--message", "lost.proto:robot.State", "--include", ".")
    assert lacking(lost.stderr, "E-FILE-UNREADABLE --message lost.proto:robot.State") == []  # type: ignore[attr-defined]
    lost = hopmeter_here("build", "--message", "a.proto:robot.State", "--include", "nowhere")
    assert lacking(lost.stderr, "E-FILE-UNREADABLE nowhere") == []  # type: ignore[attr-defined]
    unknown = hopmeter_here("build", "--message", "a.proto:robot.State", "--codec", "thrift")
    assert lacking(unknown.stderr, "E-VALUE-CHOICE thrift protobuf flatbuffers") == []  # type: ignore[attr-defined]


def test_values_that_a_generator_loses_are_no_message(tmp_path: Path, log: Path) -> None:
    (tmp_path / "a.proto").write_text(
        "message A { map<int32, float> of = 1; extensions 9 to 9; } extend A { optional int32 more = 9; }"
    )
    values = tmp_path / "values.txtpb"
    values.write_text("of { key: 0 value: 1 } of { key: 1 value: -0.0 } of { key: 2 }")
    rust = MessageTarget(f"message:{tmp_path}/a.proto:A:{values}", "protobuf", "rust")
    assert build_library(rust, log).facts["bytes"] > 10, "an entry with the default value is shorter in Rust"
    values.write_text("[more]: 7")
    with pytest.raises(BuildError, match=r"loses: \[more\]: 7"):
        build_library(rust, log)
