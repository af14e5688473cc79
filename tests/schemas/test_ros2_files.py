"""Tests for ROS 2 payloads, and for the search for definitions of other packages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.model import units
from hopmeter.model.payload_words import describe_payload, name_payload
from hopmeter.schemas import add_folders, find_schema, library_of, parse_message
from hopmeter.schemas.ros2.files import order, read_definitions
from hopmeter.schemas.ros2.standard import standard_folder
from hopmeter.system import paths
from tests.coded import refuses

CODEC = "cdr"


@pytest.fixture(autouse=True)
def _no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Create a package with one message that uses messages of the same package, of a neighbouring package and of ROS
    2."""
    write(tmp_path / "my_msgs/msg/State.msg", "std_msgs/Header header\nWheel[2] wheels\ngeo_msgs/Pose pose\n")
    write(tmp_path / "my_msgs/msg/Wheel.msg", "float32 speed\n")
    write(tmp_path / "geo_msgs/msg/Pose.msg", "float64 x\n")
    yield tmp_path
    library_of.cache_clear()


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def names(payload: str) -> list[str]:
    return list(find_schema(payload, CODEC).imports.files)


def test_a_file_names_its_type_and_all_files_are_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    schema = find_schema("message:my_msgs/msg/State.msg:500", CODEC)
    assert (schema.type, schema.values, schema.file) == ("my_msgs/msg/State", 500, home / "my_msgs/msg/State.msg")
    assert list(schema.imports.files) == [
        *("my_msgs/msg/State.msg", "std_msgs/msg/Header.msg", "my_msgs/msg/Wheel.msg", "geo_msgs/msg/Pose.msg"),
        "builtin_interfaces/msg/Time.msg",
    ]
    assert units.payload_bytes("message:my_msgs/msg/State.msg") == 0, "the codec decides"


def test_definitions_come_behind_those_that_they_need(home: Path) -> None:
    schema = find_schema(f"message:{home}/my_msgs/msg/State.msg", CODEC)
    ordered = [each.name for each in order(read_definitions(schema.imports.files), schema.type)]
    assert ordered[-1] == schema.type
    assert ordered.index("builtin_interfaces/msg/Time") < ordered.index("std_msgs/msg/Header")


def test_a_name_is_a_message_that_ros2_ships() -> None:
    schema = find_schema("message:nav_msgs/msg/Odometry", CODEC)
    assert schema.type == "nav_msgs/msg/Odometry"
    assert "float64[36] covariance" in schema.imports.files["geometry_msgs/msg/PoseWithCovariance.msg"].read_text()
    assert "w 1" in schema.imports.files["geometry_msgs/msg/Quaternion.msg"].read_text(), "a default"
    assert isinstance(schema.values, Path), "hopmeter has values for it"
    assert find_schema("message:nav_msgs/msg/GridCells", CODEC).values == 3
    assert find_schema("message:nav_msgs/msg/Odometry:9", CODEC).values == 9


def test_every_message_that_ros2_ships_is_read() -> None:
    found = sorted(standard_folder().glob("*/msg/*.msg"))
    assert len(found) > 150
    for file in found:
        name = f"{file.parent.parent.name}/msg/{file.stem}"
        assert find_schema(f"message:{name}", CODEC).type == name


@pytest.mark.parametrize(
    "place", ["far/geo_msgs", "far/share/geo_msgs", "far/src/geo_msgs", "far/src/repository/geo_msgs"]
)
def test_other_packages_are_in_the_folders_that_the_user_names(home: Path, place: str) -> None:
    (home / "geo_msgs/msg/Pose.msg").unlink()
    pose = write(home / place / "msg/Pose.msg", "float64 y\n")
    payload = add_folders(f"message:{home}/my_msgs/msg/State.msg", [home / "far"])
    assert find_schema(payload, CODEC).imports.files["geo_msgs/msg/Pose.msg"] == pose
    by_name = add_folders("message:geo_msgs/msg/Pose", [home / "far"])
    assert find_schema(by_name, CODEC).file == pose


def test_the_installed_ros2_comes_before_the_messages_that_hopmeter_knows(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = write(home / "opt/share/std_msgs/msg/Header.msg", "string frame_id\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{home}/nothing:{home}/opt")
    files = find_schema(f"message:{home}/my_msgs/msg/State.msg", CODEC).imports.files
    assert files["std_msgs/msg/Header.msg"] == header
    assert find_schema("message:std_msgs/msg/Header", CODEC).file == header


def test_the_manifest_names_the_package(home: Path) -> None:
    (home / "my_msgs").rename(home / "my_msgs-main")
    write(home / "my_msgs-main/package.xml", "<package>\n<name> my_msgs </name>\n</package>")
    assert names(f"message:{home}/my_msgs-main/msg/State.msg")[:3] == [
        *("my_msgs/msg/State.msg", "std_msgs/msg/Header.msg", "my_msgs/msg/Wheel.msg"),
    ]


def test_of_a_service_the_request_is_the_message_and_the_files_of_both_parts_are_found(home: Path) -> None:
    write(home / "my_msgs/srv/Drive.srv", "Wheel wheel\n---\ngeo_msgs/Pose pose\n")
    schema = find_schema(f"message:{home}/my_msgs/srv/Drive.srv", CODEC)
    assert (schema.type, list(schema.imports.files)) == (
        "my_msgs/srv/Drive_Request",
        ["my_msgs/srv/Drive.srv", "my_msgs/msg/Wheel.msg", "geo_msgs/msg/Pose.msg"],
    )
    by_name = add_folders("message:my_msgs/srv/Drive", [home])
    assert find_schema(by_name, CODEC).file == schema.file


def test_services_of_ros2_are_found_in_an_installation(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = write(home / "environments/ros2/share/std_srvs/srv/SetBool.srv", "bool data\n---\nbool success\n")
    monkeypatch.setattr(paths, "environment_folder", lambda: home / "environments")
    assert find_schema("message:std_srvs/srv/SetBool", CODEC).file == own
    sourced = write(home / "opt/share/std_srvs/srv/SetBool.srv", "bool data\n---\nbool success\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{home}/opt")
    assert find_schema("message:std_srvs/srv/SetBool", CODEC).file == sourced


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ("my_msgs/msg/No.msg", "E-FILE-UNREADABLE No.msg"),
        ("my_msgs/Loose.msg", "E-SCHEMA Loose.msg my_msgs/msg/"),
        ("my_msgs/srv/Wrong.msg", "E-SCHEMA Wrong.msg"),
        ("my_msgs/action/Go.action", "E-VALUE-FORM .msg .srv"),
        ("nav_msgs/msg/Odometri", "E-SCHEMA-TYPE nav_msgs/msg/Odometry"),
        ("other_msgs/msg/Odometry", "E-SCHEMA-TYPE nav_msgs/msg/Odometry --include"),
        ("nav_msgs/srv/GetNothing", "E-SCHEMA-TYPE nav_msgs/srv/GetNothing --include hopmeter build ros2"),
        ("nav_msgs/msg/Odometry:include=no", "E-FILE-UNREADABLE no"),
        ("nav_msgs/msg/Odometry:99999999999", "E-VALUE-RANGE"),
        ("nav_msgs/Odometry", "E-VALUE-FORM message:nav_msgs/msg/Odometry"),
    ],
)
def test_what_is_no_message_of_ros2_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, payload: str, reason: str
) -> None:
    for name in ("my_msgs/Loose.msg", "my_msgs/srv/Wrong.msg", "my_msgs/action/Go.action"):
        write(home / name, "float64 x\n")
    monkeypatch.chdir(home)
    with refuses(RefusedValueError, reason):
        units.payload_bytes(f"message:{payload}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("wide_msgs/Pose pose", "E-SCHEMA Bad.msg:1: wide_msgs/msg/Pose --include"),
        ("Nothing nothing", "E-SCHEMA Bad.msg:1: my_msgs/msg/Nothing"),
        ("float64 x y z", "E-SCHEMA Bad.msg:1:"),
        ("float64 x\nBad[] again", "E-SCHEMA my_msgs/msg/Bad"),
    ],
)
def test_a_definition_that_cannot_be_used_is_named(home: Path, text: str, reason: str) -> None:
    file = write(home / "my_msgs/msg/Bad.msg", text)
    with refuses(UsageError, reason) as refused:
        find_schema(f"message:{file}", CODEC)
    assert refused.value.remedy


def test_definitions_that_are_no_text_or_nest_without_end_are_refused(home: Path) -> None:
    (home / "my_msgs/msg/Wheel.msg").write_bytes(b"\xff\xfe")
    with refuses(UsageError, "E-SCHEMA Wheel.msg UTF-8"):
        find_schema(f"message:{home}/my_msgs/msg/State.msg", CODEC)
    for at in range(70):
        write(home / f"my_msgs/msg/M{at}.msg", f"M{at + 1} a\nM{at + 1} b\n" if at < 69 else "bool x\n")
    with refuses(UsageError, "E-SCHEMA 64"):
        find_schema(f"message:{home}/my_msgs/msg/M0.msg", CODEC)
    assert len(names(f"message:{home}/my_msgs/msg/M40.msg")) == 30, "each file is read once"


def test_only_codec_cdr_reads_messages_of_ros2(home: Path) -> None:
    for payload in ("nav_msgs/msg/Odometry", f"{home}/my_msgs/msg/State.msg"):
        with refuses(UsageError, "E-SCHEMA protobuf .proto"):
            find_schema(f"message:{payload}", "protobuf")
    write(home / "state.proto", 'syntax = "proto3";')
    with refuses(UsageError, "E-SCHEMA cdr state.proto .msg"):
        find_schema(f"message:{home}/state.proto:own.State", CODEC)


def test_the_identity_changes_with_each_definition(home: Path) -> None:
    payload = f"message:{home}/my_msgs/msg/State.msg"
    before = find_schema(payload, CODEC).content_id
    assert find_schema(payload, CODEC).content_id == before
    write(home / "geo_msgs/msg/Pose.msg", "float64 x\nfloat64 y\n")
    assert find_schema(payload, CODEC).content_id != before


def test_without_rosbags_the_error_names_the_command(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    standard_folder.cache_clear()
    with refuses(RefusedValueError, "E-FRAMEWORK-MISSING rosbags `hopmeter --framework cdr`"):
        parse_message("message:nav_msgs/msg/Odometry")
    assert names(f"message:{home}/geo_msgs/msg/Pose.msg") == ["geo_msgs/msg/Pose.msg"], "which needs no other package"
    standard_folder.cache_clear()


def test_titles_have_the_type_and_the_values(home: Path) -> None:
    payload = f"message:{home}/my_msgs/msg/State.msg:5:include=/tmp"
    assert name_payload(payload) == "message my_msgs/msg/State, lists of 5"
    assert describe_payload(payload) == "your message my_msgs/msg/State (lists of 5)"
    assert describe_payload("message:nav_msgs/msg/Odometry") == "the message nav_msgs/msg/Odometry"


def test_parsing_reads_no_definition(home: Path) -> None:
    write(home / "my_msgs/msg/Bad.msg", "not a definition")
    assert parse_message(f"message:{home}/my_msgs/msg/Bad.msg").type == "my_msgs/msg/Bad"
