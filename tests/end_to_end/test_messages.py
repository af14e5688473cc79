"""Measure schema messages through the real command and real nodes, in every language and every pair of languages."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hopmeter.manifest import find_transports
from hopmeter.schemas import CODECS
from hopmeter.schemas.library import languages
from tests.built import built_library
from tests.cells import MEASURED
from tests.command import Ran

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first test compiles nine libraries

SCENARIO = """
title = "Messages of a schema"
question = "What does encoding cost?"
payload = "message:robot-state"
cores = "free"
rate = 200
messages = 40
trials = 1
drain = "100ms"
checksum = true
"""
TRANSPORTS = ("shm", "zeromq")
Row = dict[str, Any]
Run = Callable[..., list[Row]]


def build(payload: str, log: Path) -> None:
    """Build the code of a message for all codecs and languages, unless it exists."""
    for codec in CODECS:
        for language in languages(codec):
            built_library(payload, codec, language, log)


@pytest.fixture
def measure(run_in: Callable[..., Ran], tmp_path: Path) -> Run:
    """Return the rows of cells with a codec; `code` is the expected exit code."""
    (tmp_path / "messages.toml").write_text(SCENARIO)
    build("message:robot-state", tmp_path / "logs/build.log")

    def run(*words: str, code: int = 0) -> list[Row]:
        ran = run_in("run", "messages.toml", "--no-report", "--json", "--codec", ",".join(CODECS), *words)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return [row for row in map(json.loads, ran.stdout.splitlines()) if row["codec"] != "none"]

    return run


def pairs(transport: str) -> list[str]:
    offered = list(find_transports([transport])[transport].offers)
    return [one if one == other else f"{one}>{other}" for one in offered for other in offered]


def test_messages_arrive_as_they_were_in_every_pair_of_languages(measure: Run) -> None:
    with ThreadPoolExecutor() as pool:  # a separate run per transport, because runs mostly wait
        runs = pool.map(lambda name: measure("--transport", name, "--language", "pairs", "--out", name), TRANSPORTS)
        rows = [row for run in runs for row in run]
    found = [(row["transport"], row["codec"], row["language"]) for row in rows if row["status"] in MEASURED]
    assert sorted(found) == sorted((one, codec, pair) for one in TRANSPORTS for codec in CODECS for pair in pairs(one))
    for row in rows:
        assert (row["content_errors"], row["trials_good"], row["touch"]) == (0, 1, "none")
        assert row["encode_count"] == row["decode_count"] == 40
        assert row["encode_p50_us"] + row["hop_min_us"] + row["decode_min_us"] < row["service_max_us"]


@pytest.mark.parametrize("shape", [("--pattern", "rpc"), ("--pattern", "scatter", "--sinks", "2"), ("--relays", "1")])
def test_messages_pass_relays_and_servers(measure: Run, shape: tuple[str, ...]) -> None:
    rows = measure("--transport", "shm", "--language", "c++,rust,python", *shape)
    assert len([row for row in rows if row["status"] in MEASURED]) == 3 * len(CODECS)
    for row in rows:
        assert row["content_errors"] == 0
        assert row["encode_count"] > 0
        assert row["decode_count"] > 0


def test_altered_frames_fail_the_trial_and_harm_nothing(measure: Run, tmp_path: Path) -> None:
    """The transport inverts the last byte of a payload, which belongs to a number in every codec."""
    (tmp_path / "list.proto").write_text('syntax = "proto3"; package series; message Series { repeated double x = 1; }')
    (tmp_path / "list.fbs").write_text("namespace series; table Series { x:[double]; }")
    (tmp_path / "series/msg").mkdir(parents=True)
    (tmp_path / "series/msg/Series.msg").write_text("float64[] x\n")
    build(f"message:{tmp_path}/list:series.Series", tmp_path / "logs/build.log")
    words = "--payload message:list:series.Series --transport synthetic --set synthetic.corrupt_every=4 --language each"
    rows = measure(*words.split(), code=1)
    assert sorted((row["codec"], row["language"]) for row in rows) == sorted(
        (codec, language) for codec in CODECS for language in languages(codec)
    )
    assert {(row["reason_code"], row["content_errors"]) for row in rows} == {("E-CONTENT", 10)}


HEAD = """
title = "A robot"
question = "Do messages of different schemas arrive in one system?"
transport = "shm"
wait = "block"
cores = "free"
duration = "1s"
trials = 1
"""
WORKLOAD = f"""{HEAD}
[participant]
robot = {{ language = "c++" }}
planner = {{ language = "rust" }}
screen = {{ language = "python" }}
[flow]
state = {{ from = "robot", to = ["planner", "screen"], rate = 50, payload = "message:robot-state", codec = "protobuf" }}
plan = {{ from = "planner", to = "screen", after = "state", payload = "message:robot-state", codec = "flatbuffers" }}
image = {{ from = "robot", to = "screen", rate = 20, payload = "message:camera-image", codec = "flatbuffers" }}
raw = {{ from = "screen", to = "robot", rate = 20, payload = "bytes:100" }}
"""


def run_flows(run_in: Callable[..., Ran], scenario: str) -> dict[str, Row]:
    """Return the row of each flow of a workload."""
    ran = run_in("run", scenario, "--no-report", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return {row["flow"]: row for row in map(json.loads, ran.stdout.splitlines())}


def test_flows_of_a_workload_carry_different_messages(run_in: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "robot.toml").write_text(WORKLOAD)
    for payload in ("message:robot-state", "message:camera-image"):
        build(payload, tmp_path / "logs/build.log")
    rows = run_flows(run_in, "robot.toml")
    for name in ("state", "plan", "image", "raw"):
        assert rows[name]["status"] in MEASURED, rows[name]
        assert rows[name]["received"] > 0
    assert rows["image"]["payload_bytes"] > 640 * 480 * 3
    assert all(rows[name]["decode_count"] > 0 for name in ("state", "plan", "image"))


SHARED = f"""{HEAD}
include = ["idl"]
[participant]
a = {{ language = "c++" }}
b = {{ language = "c++" }}
[flow]
pose = {{ from = "a", to = "b", rate = 50, payload = "message:idl/geo/pose.proto:geo.Pose", codec = "protobuf" }}
state = {{ from = "a", to = "b", rate = 50, payload = "message:state.proto:robot.State", codec = "protobuf" }}
back = {{ from = "b", to = "a", after = "state", payload = "message:state.proto:robot.Arm", codec = "protobuf" }}
"""


def test_messages_that_share_files_live_in_one_program(run_in: Callable[..., Ran], tmp_path: Path) -> None:
    head = 'syntax = "proto3"; import "geo/pose.proto"; package robot;'
    (tmp_path / "idl/geo").mkdir(parents=True)
    (tmp_path / "idl/geo/pose.proto").write_text('syntax = "proto3"; package geo; message Pose { double x = 1; }')
    (tmp_path / "state.proto").write_text(f"{head} message State {{ geo.Pose p = 1; }} message Arm {{ State s = 1; }}")
    (tmp_path / "shared.toml").write_text(SHARED)
    for name in ("idl/geo/pose.proto:geo.Pose", "state.proto:robot.State", "state.proto:robot.Arm"):
        built = run_in("build", "--message", name, "--include", "idl", "--language", "c++", "--json")
        assert built.returncode == 0, built.stdout + built.stderr
    rows = run_flows(run_in, "shared.toml")
    assert all(rows[name]["received"] > 0 and rows[name]["status"] in MEASURED for name in ("pose", "state", "back"))
