"""Tests for several messages in one program: files that messages share exist once, and incompatible versions are
detected."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hopmeter.schemas import Library
from tests.built import built_library

COMMON = {
    "proto": 'syntax = "proto3"; package common; message Pose { double x = 1; }',
    "fbs": "namespace common; table Pose { x:double; }",
    "msg": "float64 x",
}
ROBOT = {
    "proto": 'syntax = "proto3"; package robot; import "common/pose.proto"; message State { common.Pose pose = 1; }',
    "fbs": 'include "common/pose.fbs"; namespace robot; table State { pose:common.Pose; }',
    "msg": "common/Pose pose",
}
ARM = {
    "proto": 'syntax = "proto3"; package arm; import "common/pose.proto"; message Joint { common.Pose p = 1; }',
    "fbs": 'include "common/pose.fbs"; namespace arm; table Joint { p:[common.Pose]; }',
    "msg": "common/Pose[] p",
}
CODECS = {"protobuf": "proto", "flatbuffers": "fbs", "cdr": "msg"}
EACH = [(codec, language) for codec in CODECS for language in ("c++", "rust", "python")]
PROGRAM = """
import json, sys
from pathlib import Path
from hopmeter.build.messages.check import load_codec

codecs = [load_codec(Path(folder)) for folder in sys.argv[1:]]
print(json.dumps([codec.verdict(codec.encode()) for codec in codecs]))
"""


def write(home: Path, suffix: str, pose: str = "") -> None:
    for name, text in (
        ("common/pose", pose or COMMON[suffix]),
        ("robot/state", ROBOT[suffix]),
        ("arm/joint", ARM[suffix]),
    ):
        path = file_of(home, name, suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def file_of(home: Path, name: str, suffix: str) -> Path:
    package, _, kind = name.partition("/")
    return home / (f"{package}/msg/{kind.title()}.msg" if suffix == "msg" else f"{name}.{suffix}")


def build(home: Path, name: str, kind: str, codec: str, language: str, log: Path) -> Library:
    file = file_of(home, name, CODECS[codec])
    payload = f"message:{file}" if codec == "cdr" else f"message:{file}:{kind}"
    return built_library(payload, codec, language, log)


def verdicts(*libraries: Library) -> list[str]:
    words = [sys.executable, "-c", PROGRAM, *(str(each.folder) for each in libraries)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("codec", "language"), EACH)
def test_messages_that_share_a_file_are_in_one_program(tmp_path: Path, log: Path, codec: str, language: str) -> None:
    """The shared file has no imports, so only its package determines the folder in its name."""
    write(tmp_path, CODECS[codec])
    named = (("common/pose", "common.Pose"), ("robot/state", "robot.State"), ("arm/joint", "arm.Joint"))
    libraries = [build(tmp_path, *each, codec, language, log) for each in named]
    assert verdicts(*libraries) == ["equal"] * 3
    names = [each.facts.get("exclusive", {}) for each in libraries]
    assert all(names[0][name] == other[name] for other in names[1:] for name in names[0])


NEWER = {
    "proto": COMMON["proto"].replace("double x", "string x"),
    "fbs": COMMON["fbs"].replace("double", "string"),
    "msg": "string x",
}


VERSIONED = [each for each in EACH if each not in (("protobuf", "c++"), ("flatbuffers", "python"))]


@pytest.mark.parametrize(("codec", "language"), VERSIONED)
def test_two_versions_of_a_package_are_in_one_program(tmp_path: Path, log: Path, codec: str, language: str) -> None:
    for version, pose in (("one", ""), ("two", NEWER[CODECS[codec]])):
        write(tmp_path / version, CODECS[codec], pose)
    libraries = [build(tmp_path / each, "robot/state", "robot.State", codec, language, log) for each in ("one", "two")]
    assert verdicts(*libraries) == ["equal", "equal"]
    assert not any(each.facts.get("exclusive") for each in libraries)
