"""Measure typed messages over `ros2` through the real command: a user's own messages and those of recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hopmeter.manifest import find_transports
from hopmeter.schemas.ros2.types import payload_type
from tests.built import built_library, built_types
from tests.cells import MEASURED
from tests.coded import lacking
from tests.command import Ran
from tests.recordings.mcap_bytes import Parts, Sent, write
from tests.ros2_packages import write_packages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the ROS 2 generators need a minute of CPU

SCENARIO = """
title = "Messages of ROS 2"
question = "Do they arrive as they are?"
transport = "ros2"
language = "python"
cores = "free"
rate = 50
messages = 30
trials = 1
checksum = true
"""
Row = dict[str, Any]
Run = Callable[..., list[Row]]


@pytest.fixture
def wheels(tmp_path: Path) -> str:
    """Return the payload of a message whose packages no installation contains; its code is generated."""
    write_packages(tmp_path)
    return build(f"message:{tmp_path}/wheel_msgs/msg/Wheels.msg", tmp_path)


@pytest.fixture
def load(tmp_path: Path) -> str:
    """Return the payload of a service with a small request and a large response."""
    file = tmp_path / "load_msgs/srv/Load.srv"
    file.parent.mkdir(parents=True)
    file.write_text("int32 number\n---\nuint8[3000] data\n")
    return build(f"message:{file}", tmp_path)


def build(payload: str, folder: Path) -> str:
    log = folder / "logs/build.log"
    built_library(payload, "cdr", "python", log)
    built_types(find_transports(["ros2"])["ros2"], "python", payload_type(payload), log)
    return payload


@pytest.fixture
def measure(run_in: Callable[..., Ran], tmp_path: Path) -> Run:
    (tmp_path / "own.toml").write_text(SCENARIO)

    def run(*words: str, code: int = 0) -> list[Row]:
        ran = run_in("run", "own.toml", "--no-report", "--json", *words)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return run


def topics_of(results: Path) -> str:
    """Return what the nodes of a run report about their messages."""
    [table] = [pq.read_table(path) for path in results.glob("*/trials.parquet")]
    facts = (node["facts"] for text in table["nodes"].to_pylist() for node in json.loads(text))
    return "; ".join(sorted({str(each["message"]) for each in facts if "message" in each}))


@pytest.mark.parametrize("shape", [(), ("--relays", "1"), ("--wait", "callback"), ("--pattern", "rpc")])
def test_a_message_of_own_packages_arrives_as_its_own_type(
    measure: Run, wheels: str, tmp_path: Path, shape: tuple[str, ...]
) -> None:
    [row] = [row for row in measure("--payload", wheels, *shape) if row["transport"] == "ros2"]
    assert row["status"] in MEASURED, row
    assert (row["content_errors"], row["malformed"], row["touch"], row["encode_count"]) == (0, 0, "none", None)
    assert topics_of(tmp_path / "results") == "wheel_msgs/msg/Wheels in hopmeter's frame"


@pytest.mark.parametrize("shape", [(), ("--relays", "1", "--wait", "callback"), ("--pattern", "scatter")])
def test_a_service_of_an_own_package_is_called(measure: Run, load: str, tmp_path: Path, shape: tuple[str, ...]) -> None:
    words = ("--payload", load, *(() if "--pattern" in shape else ("--pattern", "rpc")), *shape)
    [row] = [row for row in measure(*words) if row["transport"] == "ros2"]
    assert row["status"] in MEASURED, row
    assert (row["content_errors"], row["malformed"], row["payload_bytes"]) == (0, 0, 8)
    sizes = "request of 8 bytes, response of 3,004 bytes"
    assert topics_of(tmp_path / "results") == f"load_msgs/srv/Load, {sizes}; request and response in hopmeter's frame"


def test_a_service_is_not_published(measure: Run, load: str) -> None:
    [row] = [row for row in measure("--payload", load, code=2) if row["transport"] == "ros2"]
    assert lacking(row["dropped"], "D-SCHEMA load_msgs/srv/Load --pattern rpc") == []


def test_without_its_code_a_message_is_dropped_with_the_command_that_builds_it(measure: Run, tmp_path: Path) -> None:
    file = tmp_path / "never_msgs/msg/Built.msg"
    file.parent.mkdir(parents=True)
    file.write_text("int8 never_built")
    [row] = [row for row in measure("--payload", f"message:{file}", code=2) if row["transport"] == "ros2"]
    assert lacking(row["dropped"], "D-MESSAGE-NOT-BUILT --codec") == []


WORKLOAD = """
title = "A replay"
question = "Are recorded messages sent as their own type?"
transport = "ros2"
language = "python"
wait = "block"
cores = "free"
duration = "1s"
trials = 1
checksum = true
[participant]
robot = {}
screen = {}
[flow]
text = { from = "robot", to = "screen", replay = "drive.mcap:/text" }
other = { from = "robot", to = "screen", replay = "drive.mcap:/other" }
"""


def test_recorded_messages_are_sent_as_their_own_type_or_as_bytes_with_a_note(
    run_in: Callable[..., Ran], tmp_path: Path
) -> None:
    start = 1_700_000_000_000_000_000
    text = [b"\0\1\0\0" + len(word).to_bytes(4, "little") + word for word in (b"one\0", b"three\0", b"fifteen\0")]
    sent = [Sent("/text", start + at * 20_000_000, text[at % 3]) for at in range(60)]
    sent += [Sent("/other", start + at * 20_000_000 + 7, bytes(9)) for at in range(60)]
    kinds = {"/text": ("std_msgs/msg/String", "ros2msg", "string data"), "/other": ("lost_msgs/msg/Lost", "", "")}
    (tmp_path / "drive.mcap").write_bytes(write(sent, Parts(), kinds=kinds))
    (tmp_path / "replay.toml").write_text(WORKLOAD)
    ran = run_in("run", "replay.toml", "--no-report", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = {row["flow"]: row for row in map(json.loads, ran.stdout.splitlines())}
    for name in ("text", "other"):
        assert rows[name]["status"] in MEASURED, rows[name]
        assert rows[name]["content_errors"] == rows[name]["malformed"] == 0
    assert topics_of(tmp_path / "results") == "sensor_msgs/msg/Image, std_msgs/msg/String as octets"
    assert "lost_msgs/msg/Lost" in ran.stderr
