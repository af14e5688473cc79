"""Tests for a schema's imports, which the compiler lists, and for import folders that hopmeter cannot guess."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.schemas import add_folders, compilers, find_schema, parse_message, without_folders
from tests.coded import refuses

A = 'syntax = "proto3"; package a;'
EMPTY = "message M {}"


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(payload: str, codec: str = "protobuf") -> list[str]:
    return list(find_schema(payload, codec).imports.files)


@pytest.mark.parametrize(
    "imports",
    [
        'syntax = "proto3"; import "b.proto"; import \'c d.proto\';',
        'syntax = "proto3"; /* import "no.proto"; */ import\n  "b.proto"\n; import public "c d.proto";',
        'syntax = "proto3"; option go_package = "import \\"no.proto\\";"; import "b" ".proto"; import "c\\x20d.proto";',
        '// import "no.proto";\nsyntax = "proto3";import"b.proto";import weak"c d.proto";',
    ],
)
def test_an_import_is_found_wherever_it_is(tmp_path: Path, imports: str) -> None:
    write(tmp_path, {"a.proto": imports + EMPTY, "b.proto": A, "c d.proto": f"{A} import 'google/protobuf/any.proto';"})
    assert sorted(names(f"message:{tmp_path}/a.proto:M")) == ["a.proto", "b.proto", "c d.proto"]


@pytest.mark.parametrize("form", ['include "b.fbs";', '/* include "no.fbs"; */include\n"b.fbs";', 'include "./b.fbs";'])
def test_an_include_of_flatbuffers_is_found_wherever_it_is(tmp_path: Path, form: str) -> None:
    write(
        tmp_path, {"x/a.fbs": f"{form} table A {{}}", "x/b.fbs": 'include "../y z/c.fbs";', "y z/c.fbs": "table C {}"}
    )
    assert sorted(names(f"message:{tmp_path}/x/a.fbs:A", "flatbuffers")) == ["x/a.fbs", "x/b.fbs", "y z/c.fbs"]


def test_files_of_a_folder_are_named_from_one_folder(tmp_path: Path) -> None:
    """A file without imports has the name that its neighbours import, or its name within its package."""
    write(
        tmp_path,
        {
            "idl/geo/pose.proto": 'syntax = "proto3"; package own;',
            "idl/geo/path.proto": f'{A} import "geo/pose.proto";',
            "idl/lone/only.proto": 'syntax = "proto3"; package lone;',
            "flat/same/one.proto": 'syntax = "proto3"; package same;',
            "flat/same/two.proto": 'syntax = "proto3"; package same; import "one.proto";',
            "bare/a.proto": A,
        },
    )
    for path, name in {
        "idl/geo/pose.proto": "geo/pose.proto",
        "idl/lone/only.proto": "lone/only.proto",
        "flat/same/one.proto": "one.proto",
        "bare/a.proto": "a.proto",
    }.items():
        assert names(f"message:{tmp_path}/{path}:M") == [name]


def test_a_broken_file_beside_a_schema_does_not_matter(tmp_path: Path) -> None:
    write(tmp_path, {"a.proto": A, "broken.proto": "message {", "lost.proto": f'{A} import "nowhere.proto";'})
    assert names(f"message:{tmp_path}/a.proto:M") == ["a.proto"]


WORDS = {"protobuf": ("proto", 'syntax = "proto3"; import'), "flatbuffers": ("fbs", "include")}


@pytest.mark.parametrize("codec", WORDS)
def test_further_folders_are_searched(tmp_path: Path, codec: str) -> None:
    suffix, word = WORDS[codec]
    files = {
        f"own/a.{suffix}": f'{word} "api/b.{suffix}";',
        f"one/api/b.{suffix}": f'{word} "c.{suffix}";',
        f"two/c.{suffix}": word.rpartition(" ")[0] or "namespace c;",
    }
    write(tmp_path, files)
    payload = f"message:{tmp_path}/own/a.{suffix}:M"
    with refuses(UsageError, f"E-SCHEMA a.{suffix} api/b.{suffix} --include"):
        find_schema(payload, codec)
    with refuses(UsageError, f"E-SCHEMA b.{suffix} c.{suffix} --include"):
        find_schema(add_folders(payload, [tmp_path / "one"]), codec)
    found = find_schema(add_folders(payload, [tmp_path / "one", tmp_path / "two"]), codec)
    assert {path.relative_to(tmp_path).as_posix() for path in found.files} == files.keys()


def test_a_schema_below_a_folder_that_the_user_names_is_named_from_it(tmp_path: Path) -> None:
    write(tmp_path, {"idl/geo/pose.proto": A, "idl/b.proto": A})
    payload = f"message:{tmp_path}/idl/geo/pose.proto:M"
    assert names(payload) == ["pose.proto"]
    assert names(add_folders(payload, [tmp_path / "idl"])) == ["geo/pose.proto"]


def test_folders_are_part_of_the_payload() -> None:
    plain = "message:robot.proto:robot.State:7"
    with_folders = add_folders(plain, ["x", "/y z"])
    assert with_folders == f"{plain}:include=x:include=/y z"
    assert add_folders(with_folders, ["x"]) == with_folders
    assert without_folders(with_folders) == plain
    assert add_folders("message:robot-state", ["x"]) == "message:robot-state"
    assert add_folders("bytes:5", ["x"]) == "bytes:5"


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.proto": A})
    with refuses(RefusedValueError, "E-FILE-UNREADABLE nowhere"):
        parse_message(f"message:{tmp_path}/a.proto:a.M:include={tmp_path}/nowhere")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('edition = "2023"; package a; message M { int32 x = 1; }', "27 or newer"),
        (f"{A} message M {{ future int32 x = 1; }}", "if protoc .* is too old for it"),
    ],
)
def test_a_line_that_an_old_compiler_rejects_may_be_right(tmp_path: Path, text: str, remedy: str) -> None:
    fake = tmp_path / "bin/protoc"
    write(tmp_path, {"a.proto": text, "bin/protoc": OLD})
    fake.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UsageError, match=remedy) as failed:
        patch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
        find_schema(f"message:{tmp_path}/a.proto:a.M", "protobuf")
    assert "3.6.1" in failed.value.remedy
    assert "first in PATH" in failed.value.remedy


def test_a_new_compiler_is_not_too_old_for_editions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "version", lambda _: "protoc 35.1 (/opt/bin/protoc)")
    assert compilers.remedy("protoc", 'edition = "2023";').startswith("correct the line, or")


OLD = """#!/bin/sh
case "$*" in *--version*) echo libprotoc 3.6.1;; *) echo "a.proto:1:1: Expected top-level statement." >&2; exit 1;; esac
"""
