"""Tests for ROS 2 message values: from YAML files as `ros2 topic pub` reads them, and hopmeter's defaults."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build.command import BuildError
from hopmeter.build.messages import chosen_values as chosen
from hopmeter.build.messages.cdr import ordered_definitions
from hopmeter.build.messages.ros2_values import STAMP, choose_values, read_values
from hopmeter.schemas import find_schema
from hopmeter.schemas.payload import FOLDER
from hopmeter.schemas.ros2.parser import parse
from tests.coded import lacking

STATE = """
std_msgs/Header header
float64 speed
float32 small
uint8 mode 7
int16[3] axes [1, 2, 3]
string<=5 name "robot"
string[<=2] texts
bool active
Wheel[] wheels
uint8[] data
geometry_msgs/Quaternion turn
"""


@pytest.fixture
def payload(tmp_path: Path) -> str:
    (tmp_path / "my_msgs/msg").mkdir(parents=True)
    (tmp_path / "my_msgs/msg/State.msg").write_text(STATE)
    (tmp_path / "my_msgs/msg/Wheel.msg").write_text("float32 speed\nfloat32[<=4] loads\n")
    return f"message:{tmp_path}/my_msgs/msg/State.msg"


def read(payload: str, text: str) -> dict[str, Any]:
    file = Path(payload.removeprefix("message:")).with_name("values.yaml")
    file.write_text(text)
    schema = find_schema(payload, "cdr")
    return read_values(ordered_definitions(schema), schema.type, file)


def test_values_are_read_and_others_have_their_defaults(payload: str) -> None:
    found = read(payload, "{speed: 1e3, wheels: [{speed: 1}, {}], texts: [a, b], turn: {x: 0.5}, active: yes}")
    assert (found["speed"], found["active"], found["texts"]) == (1000.0, True, ["a", "b"])
    assert found["wheels"] == [{"speed": 1.0, "loads": []}, {"speed": 0.0, "loads": []}]
    assert (found["mode"], found["axes"], found["name"], found["data"]) == (7, [1, 2, 3], "robot", [])
    assert found["turn"] == {"x": 0.5, "y": 0.0, "z": 0.0, "w": 1.0}
    assert found["header"] == {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    assert read(payload, "")["speed"] == 0.0


def test_words_for_times_and_numbers_of_values(payload: str) -> None:
    found = read(payload, "header: auto\ndata: !items 300\nwheels: !items 2\nspeed: .nan")
    assert found["header"] == {"stamp": STAMP, "frame_id": ""}
    assert found["data"] == [chosen.byte(at) for at in range(300)]
    assert [len(each["loads"]) for each in found["wheels"]] == [3, 3]
    assert math.isnan(found["speed"])
    assert read(payload, "header: {stamp: now}")["header"]["stamp"] == STAMP


SERVICE = "int8 speed 4\n---\nbool ok\nstring why\n"


def read_parts(folder: Path, text: str) -> list[dict[str, Any]]:
    file = folder / "my_msgs/srv/Drive.srv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SERVICE)
    values = folder / "values.yaml"
    values.write_text(text)
    schema = find_schema(f"message:{file}", "cdr")
    parts = ["my_msgs/srv/Drive_Request", "my_msgs/srv/Drive_Response"]
    return [read_values(ordered_definitions(schema, name), name, values) for name in parts]


@pytest.mark.parametrize(
    ("text", "speed", "why"),
    [
        ("speed: 2\n---\nwhy: done\n", 2, "done"),
        ("---\n{why: done}", 4, "done"),
        ("speed: 2", 2, ""),
        ("", 4, ""),
    ],
)
def test_the_values_of_a_service_have_two_parts(tmp_path: Path, text: str, speed: int, why: str) -> None:
    assert read_parts(tmp_path, text) == [{"speed": speed}, {"ok": False, "why": why}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("why: x", "E-SCHEMA why speed"),
        ("{}\n---\nspeed: 1", "E-SCHEMA speed why"),
        ("{}\n---\n{}\n---\n", "E-SCHEMA ---"),
    ],
)
def test_values_of_the_other_part_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BuildError) as failed:
        read_parts(tmp_path, text)
    assert lacking(str(failed.value), reason) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sped: 1", "E-SCHEMA values.yaml sped my_msgs/msg/State speed"),
        ("header: {frame: x}", "E-SCHEMA header.frame std_msgs/msg/Header frame_id"),
        ("wheels: [{}, {sped: 1}]", "E-SCHEMA wheels[1].sped loads"),
        ("speed: fast", "E-SCHEMA speed 'fast' float64"),
        ("speed: true", "E-SCHEMA speed True float64"),
        ("mode: 1.5", "E-SCHEMA mode 1.5 uint8"),
        ("mode: 256", "E-SCHEMA mode 256 0 255"),
        ("small: 1.0e+39", "E-SCHEMA small 1e+39 float32"),
        ("active: 1", "E-SCHEMA active 1 bool"),
        ("name: 5", "E-SCHEMA name 5"),
        ("name: roboter", "E-SCHEMA name 7 5"),
        ('name: "a\\0"', "E-SCHEMA name"),
        ("axes: [1, 2]", "E-SCHEMA axes 2 3"),
        ("axes: 1", "E-SCHEMA axes int16 1"),
        ("texts: [a, b, c]", "E-SCHEMA texts 3 2"),
        ("texts: abc", "E-SCHEMA texts 'abc'"),
        ("axes: !items 4", "E-SCHEMA axes 4 3"),
        ("data: !items 99999999", "E-SCHEMA data 99,999,999"),
        ("data: !items -1", "E-SCHEMA data -1"),
        ("wheels: {speed: 1}", "E-SCHEMA wheels"),
        ("header: 5", "E-SCHEMA header 5"),
        ("[1, 2]", "E-SCHEMA values.yaml"),
        ("speed: [", "E-SCHEMA YAML"),
        ("speed: !!python/object/apply:os.getcwd []", "E-SCHEMA YAML"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_field(payload: str, text: str, reason: str) -> None:
    with pytest.raises(BuildError) as failed:
        read(payload, text)
    assert lacking(str(failed.value), reason) == []
    assert failed.value.remedy


def test_chosen_values_fill_every_field_within_its_bounds() -> None:
    text = (
        "uint8[] data\nuint8[<=2] few\nfloat64[4] four\nstring<=3 name\nstring[] names\nint8 small\nbyte b\nbool on\n"
    )
    definition = parse(text, "a/msg/A", "A.msg")
    found = choose_values({"a/msg/A": definition}, "a/msg/A", 500)
    assert [len(found[each]) for each in ("data", "few", "four", "name", "names")] == [500, 2, 4, 3, 3]
    assert found["on"] is True


@pytest.mark.parametrize("file", sorted((FOLDER / "ros2").glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_values_fill_a_message_that_ros2_ships(file: Path) -> None:
    schema = find_schema(f"message:{file.stem.replace('.', '/')}", "cdr")
    assert schema.values == file
    found = read_values(ordered_definitions(schema), schema.type, file)
    missing = {field.name for field in ordered_definitions(schema)[schema.type].fields} - found.keys()
    assert not missing


def test_an_image_has_the_bytes_that_it_says() -> None:
    schema = find_schema("message:sensor_msgs/msg/Image", "cdr")
    assert isinstance(schema.values, Path)
    found = read_values(ordered_definitions(schema), schema.type, schema.values)
    assert len(found["data"]) == found["step"] * found["height"] == 640 * 480 * 3
