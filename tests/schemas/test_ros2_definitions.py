"""Tests for ROS 2 message definitions: valid files, and invalid lines, which are refused with a reason."""

from __future__ import annotations

import pytest

from hopmeter.errors import UsageError
from hopmeter.schemas.ros2.definition import PLACEHOLDER, FieldType
from hopmeter.schemas.ros2.parser import parse, parse_all
from tests.coded import refuses

NAME = "my_msgs/msg/State"


def types(text: str) -> dict[str, FieldType]:
    return {field.name: field.type for field in parse(text, NAME, "State.msg").fields}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("float64 a", FieldType("float64")),
        ("\tbyte   a  # why", FieldType("byte")),
        ("string<=10 a", FieldType("string", text_bound=10)),
        ("uint8[] a", FieldType("uint8", is_list=True)),
        ("uint8[<=7] a", FieldType("uint8", is_list=True, bound=7)),
        ("string<=5[3] a", FieldType("string", text_bound=5, is_list=True, length=3)),
        ("string<=5[<=3] a", FieldType("string", text_bound=5, is_list=True, bound=3)),
        ("Wheel a", FieldType("my_msgs/msg/Wheel")),
        ("std_msgs/Header a", FieldType("std_msgs/msg/Header")),
        ("std_msgs/msg/Header[2] a", FieldType("std_msgs/msg/Header", is_list=True, length=2)),
        ("wstring a", FieldType("wstring")),
    ],
)
def test_types(line: str, kind: FieldType) -> None:
    assert types(line) == {"a": kind}


@pytest.mark.parametrize(
    ("line", "default"),
    [
        ("bool a true", True),
        ("int8 a -128", -128),
        ("uint16 a 0xff", 255),
        ("float32 a 1e3", 1000.0),
        ('string a "x # y"  # a comment', "x # y"),
        ("string a plain", "plain"),
        ("int32[3] a [1, -2, 3]", (1, -2, 3)),
        ("string[] a ['x, y', \"z\"]", ("x, y", "z")),
        ("float64[<=2] a []", ()),
    ],
)
def test_defaults(line: str, default: object) -> None:
    (field,) = parse(line, NAME, "State.msg").fields
    assert field.default == default


def test_constants_and_comments_do_not_travel() -> None:
    text = '# a comment\nuint8 MODE_AUTO=1\nstring GREETING = "a # b" # c\n\nfloat64 speed\n'
    assert list(types(text)) == ["speed"]


def test_a_message_without_fields_has_the_one_that_ros2_sends() -> None:
    assert list(types("uint8 A=1\n")) == [PLACEHOLDER]


def test_a_service_has_a_request_and_a_response() -> None:
    request, response = parse_all("float64 speed\n---\nbool ok  # done\n", "my_msgs/srv/Drive", "Drive.srv")
    assert (request.name, response.name) == ("my_msgs/srv/Drive_Request", "my_msgs/srv/Drive_Response")
    assert [field.name for field in (*request.fields, *response.fields)] == ["speed", "ok"]
    empty = parse_all("---", "my_msgs/srv/Drive", "Drive.srv")
    assert [field.name for part in empty for field in part.fields] == [PLACEHOLDER, PLACEHOLDER]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("float64 speed", "E-SCHEMA Drive.srv ---"),
        ("int8 a\n---\nint8 b\n---\nint8 c", "E-SCHEMA Drive.srv ---"),
        ("int8 a\n---\n# two\nint9 b", "E-SCHEMA Drive.srv:4: int9"),
        ("int8\n---\nint8 b", "E-SCHEMA Drive.srv:1: TYPE NAME"),
        ("int8 a\n---\nint8 b\nint8 b", "E-SCHEMA Drive.srv:4: b"),
    ],
)
def test_what_is_no_service_is_refused_with_its_line(text: str, reason: str) -> None:
    with refuses(UsageError, reason):
        parse_all(text, "my_msgs/srv/Drive", "Drive.srv")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("float64", "State.msg:2: TYPE NAME"),
        ("float64 Speed", "State.msg:2: Speed wheel_speed"),
        ("float64 a__b", "State.msg:2: a__b"),
        ("float64 a_", "State.msg:2: a_"),
        ("float65 a", "State.msg:2: float65"),
        ("Header a", "State.msg:2: std_msgs/Header"),
        ("time a", "State.msg:2: builtin_interfaces/Time"),
        ("uint8[ a", "State.msg:2: uint8["),
        ("uint8[0] a", "State.msg:2: at least 1"),
        ("uint8[<=] a", "State.msg:2: at least 1"),
        ("uint8<=5 a", "State.msg:2: only string"),
        ("float64[99999999999] a", "State.msg:2: at most"),
        ("uint8 a 256", "State.msg:2: 0 255"),
        ("int8 a one", "State.msg:2: one int8"),
        ("bool a maybe", "State.msg:2: maybe true false"),
        ("string<=2 a abc", "State.msg:2: 2 bytes"),
        ("uint8[2] a [1]", "State.msg:2: 1 values 2"),
        ("uint8[<=2] a [1, 2, 3]", "State.msg:2: 3 values 2"),
        ("uint8[] a 5", "State.msg:2: [1, 2, 3]"),
        ("Wheel a 5", "State.msg:2: default"),
        ("uint8 mode=1", "State.msg:2: mode MODE_AUTO"),
        ("Wheel MODE=1", "State.msg:2: constant"),
        ("uint8 MODE=300", "State.msg:2: 255"),
        ("float64 first", "State.msg:2: first twice"),
    ],
)
def test_a_line_that_ros2_does_not_accept_is_named_with_its_remedy(line: str, reason: str) -> None:
    with refuses(UsageError, f"E-SCHEMA {reason}") as refused:
        parse(f"float64 first\n{line}\n", NAME, "State.msg")
    assert refused.value.remedy


def test_long_names_are_read_in_linear_time() -> None:
    with refuses(UsageError, "E-SCHEMA State.msg:1:"):
        parse(f"uint8 {'A' * 100_000}a=1", NAME, "State.msg")
