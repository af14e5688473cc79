"""Tests for the structure of ROS 2 message types, and for comparison with the types of an installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.errors import UsageError
from hopmeter.schemas.ros2.types import (
    RosType,
    full_name,
    has_header,
    has_type,
    missing_packages,
    payload_type,
    read_installed,
    split_definitions,
)
from tests.coded import refuses

HEADER = {
    "std_msgs/msg/Header": "builtin_interfaces/Time stamp\nstring frame_id\n",
    "builtin_interfaces/msg/Time": "int32 sec\nuint32 nanosec\n",
}
RULE = "=" * 80


def ros_type(text: str, **more: str) -> RosType:
    return RosType("a/msg/A", {"a/msg/A": text, **{name.replace("__", "/msg/"): each for name, each in more.items()}})


def install(prefix: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        file = prefix / "share" / f"{name}.msg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return prefix


@pytest.mark.parametrize(
    ("text", "bounded"),
    [
        ("float64 x\nuint8[36] y\nbool z", True),
        ("", True),
        ("string<=10 s\nuint8[<=4] t", True),
        ("string s", False),
        ("uint8[] s", False),
        ("string[3] s", False),
        ("b/B b", True),
        ("b/B[] b", False),
        ("c/C c", False),
    ],
)
def test_a_type_is_bounded_if_no_text_and_no_sequence_lacks_a_limit(text: str, bounded: bool) -> None:
    assert ros_type(text, b__B="int8 x", c__C="wstring x").is_bounded == bounded


def test_only_a_header_that_is_the_first_field_carries_that_of_a_frame() -> None:
    first, second = "std_msgs/Header header\nint8 x", "int8 x\nstd_msgs/Header header"
    texts = [first, second, first.replace(" header", " head"), first.replace("Header", "Header[1]")]
    assert [RosType("a/msg/A", {"a/msg/A": each, **HEADER}).has_header for each in texts] == [True, False, False, False]


def test_a_package_comes_after_those_that_it_uses() -> None:
    found = ros_type("b/B b\nc/C c", c__C="b/B b", b__B="d/D d", d__D="int8 x")
    assert found.packages == ["d", "b", "c", "a"]


def test_the_text_of_a_recording_has_all_definitions_with_either_form_of_names() -> None:
    parts = ["Inner inner  # of the same package\nstd_msgs/Header header\n", "MSG: a/Inner\nint8 x\n"]
    parts += [f"MSG: {name}\n{text}" for name, text in HEADER.items()]
    found = split_definitions("a/msg/A", f"{RULE}\n".join(parts))
    assert set(found.texts) == {"a/msg/A", "a/msg/Inner", *HEADER}
    assert [each.name for each in found.definitions["a/msg/A"].fields] == ["inner", "header"]


@pytest.mark.parametrize("text", [f"b/B b\n{RULE}\nMSG: c/C\nint8 x", "int8", "a/A again", "x\0y z"])
def test_a_text_without_a_definition_that_it_needs_is_refused(text: str) -> None:
    with refuses(UsageError, "E-SCHEMA"):
        split_definitions("a/msg/A", text)


@pytest.mark.parametrize("name", ["", "Odometry", "nav_msgs", "a/srv/B", "../x/msg/Y", "a/msg/b"])
def test_a_name_that_is_no_type_is_refused(name: str) -> None:
    with refuses(UsageError, "E-SCHEMA-TYPE"):
        full_name(name)


def test_an_installation_lacks_only_packages_that_it_does_not_have(tmp_path: Path) -> None:
    wanted = ros_type("b/B b\nstd_msgs/Header header", b__B="c/C c", c__C="int8 x")
    wanted = RosType(wanted.name, {**wanted.texts, **HEADER})
    prefix = install(tmp_path, {**HEADER, "c/msg/C": "# commented\nint8   x\nint8 MOST=3"})
    assert missing_packages(wanted, [tmp_path / "none", prefix]) == ["b", "a"]
    assert read_installed("std_msgs/Header", [prefix]).texts == HEADER


@pytest.mark.parametrize("installed", ["uint8 x", "int8 y", "int8 x\nint8 y", "int8[1] x"])
def test_another_definition_in_an_installation_is_refused(tmp_path: Path, installed: str) -> None:
    prefix = install(tmp_path, {"a/msg/A": installed})
    with refuses(UsageError, "E-SCHEMA"):
        missing_packages(ros_type("int8 x"), [prefix])
    with refuses(UsageError, "E-SCHEMA"):  # the package exists, but the type does not
        missing_packages(RosType("a/msg/B", {"a/msg/B": "int8 x"}), [prefix])
    with refuses(UsageError, "E-SCHEMA"):
        read_installed("a/msg/C", [prefix])


def test_the_type_of_a_payload_has_the_text_of_its_files(tmp_path: Path) -> None:
    install(tmp_path, {"my_msgs/msg/Wheel": "float64 speed\nInner inner", "my_msgs/msg/Inner": "int8 x # mm"})
    found = payload_type(f"message:{tmp_path}/share/my_msgs/msg/Wheel.msg")
    assert (found.name, found.texts["my_msgs/msg/Inner"]) == ("my_msgs/msg/Wheel", "int8 x # mm")


def test_only_a_message_of_ros_2_has_a_type(tmp_path: Path) -> None:
    install(tmp_path, {"my_msgs/msg/Wheel": "float64 speed"})
    (tmp_path / "wheel.proto").write_text('syntax = "proto3"; message Wheel {}')
    named = [f"{tmp_path}/share/my_msgs/msg/Wheel.msg", f"{tmp_path}/wheel.proto:Wheel", "nav_msgs/msg/Odometry"]
    assert [has_type(f"message:{each}") for each in named] == [True, False, True]


def test_a_service_has_the_definitions_of_both_parts_and_needs_the_code_of_its_messages_only(tmp_path: Path) -> None:
    prefix = install(tmp_path / "ros", HEADER)
    install(tmp_path, {"my_msgs/msg/Inner": "int8 x"})
    file = tmp_path / "share/my_msgs/srv/Ask.srv"
    file.parent.mkdir()
    file.write_text("int8 x\n---\nstd_msgs/Header header\nInner inner\n")
    found = payload_type(f"message:{file}")
    assert found.is_service
    assert [has_header(part) for part in found.parts] == [False, True]
    assert set(found.messages) == {*HEADER, "my_msgs/msg/Inner"}
    assert missing_packages(found, [prefix]) == ["my_msgs"]
    assert has_type(f"message:{file}")
