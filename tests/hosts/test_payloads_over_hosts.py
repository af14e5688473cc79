"""Tests for payloads between hosts: messages of a recording, and messages between nodes in three languages."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.hosts.test_runs import DELAY_US, Run, nothing_is_left, read, scenario, start
from tests.recordings.made import START_NS, payload, write_mcap

pytestmark = pytest.mark.slow

__all__ = ["nothing_is_left", "scenario", "start"]

SIZES = [70_000, 0, 1, 33_000, 64, 20_000, 5, 16_384]
REPLAY = """
title = "Replay"
question = "Do the messages of a recording reach another host?"
transport = "tcp"
language = "python"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
checksum = true
participant.camera.host = "one"
participant.motor.host = "two"
flow.frames = {{ from = "camera", to = "motor", replay = "{mcap}:/t", touch = "write+read" }}
flow.orders = {{ from = "motor", to = "camera", after = "frames", payload = "bytes:64" }}
"""
LANGUAGES = f"""
title = "Languages"
question = "Do nodes in three languages on two hosts understand each other?"
transport = "synthetic"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
settings.synthetic.delay_us = {DELAY_US}
participant.camera = {{ host = "one", language = "rust" }}
participant.detector = {{ host = "two", language = "c++" }}
participant.motor = {{ host = "one", language = "python" }}
flow.frames = {{ from = "camera", to = "detector", rate = 100, payload = "bytes:1000" }}
flow.orders = {{ from = "detector", to = "motor", after = "frames", payload = "bytes:64" }}
flow.ask = {{ from = "motor", call = "camera", rate = 50, payload = "bytes:100" }}
"""
MESSAGES = """
title = "Own messages"
question = "Do messages of a schema reach another host?"
transport = "tcp"
language = "python"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
participant.camera.host = "one"
participant.motor.host = "two"
flow.state = {{ from = "camera", to = "motor", rate = 50, payload = "message:{schema}:own.State", codec = "protobuf" }}
"""


def test_the_messages_of_a_recording_reach_another_host(tmp_path: Path, scenario: Path, start: Run) -> None:
    messages = [(START_NS + number * 20_000_000, payload(number, size)) for number, size in enumerate(SIZES)]
    mcap = write_mcap(tmp_path / "one.mcap", {"/t": messages})
    scenario.write_text(REPLAY.format(mcap=mcap))
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run", "--no-report")
    printed = done.communicate()
    assert done.returncode == 0, printed
    rows = {row["flow"]: row for row in read(tmp_path / "run", "cells") if row["flow"]}
    for row in rows.values():
        assert (row["received"], row["lost"], row["content_errors"]) == (len(SIZES), 0, 0)
    assert rows["frames"]["largest_payload_bytes"] == max(SIZES) and rows["frames"]["pace"] == "replay"


def test_nodes_in_three_languages_on_two_hosts(tmp_path: Path, scenario: Path, start: Run) -> None:
    scenario.write_text(LANGUAGES)
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run", "--no-report")
    printed = done.communicate()
    assert done.returncode == 0, printed
    rows = {row["flow"]: row for row in read(tmp_path / "run", "cells") if row["flow"]}
    assert {name: (row["received"], row["lost"]) for name, row in rows.items()} == {
        "frames": (50, 0),
        "orders": (50, 0),
        "ask": (25, 0),
    }
    assert all(row["service_min_us"] >= DELAY_US for row in rows.values()), "a call takes the delay twice"
    found = {(row["participant"], row["host"], row["language"]) for row in read(tmp_path / "run", "processes")}
    assert found == {("camera", "one", "rust"), ("detector", "two", "c++"), ("motor", "one", "python")}


def test_messages_of_a_schema_reach_another_host(tmp_path: Path, scenario: Path, start: Run) -> None:
    schema = tmp_path / "own.proto"
    unbuilt = f"name_{secrets.token_hex(4)}"  # the code that an earlier test built remains
    fields = f"repeated double values = 1; string {unbuilt} = 2;"
    schema.write_text(f'syntax = "proto3"; package own; message State {{ {fields} }}')
    scenario.write_text(MESSAGES.format(schema=schema))
    hosts = ("--hosts", "hosts.toml")
    planned = start("run", scenario.name, *hosts, "--dry-run").communicate()
    assert "D-MESSAGE-NOT-BUILT" in "".join(planned)
    building = start("build", "--message", f"{schema}:own.State", "--codec", "protobuf", "--language", "python", *hosts)
    printed = building.communicate()
    assert building.returncode == 0 and "✓ two" in printed[0], printed
    done = start("run", scenario.name, *hosts, "--out", "run", "--no-report")
    printed = done.communicate()
    assert done.returncode == 0, printed
    (row,) = [each for each in read(tmp_path / "run", "cells") if each["flow"]]
    assert row["received"] == 25 and not row["content_errors"] and row["decode_p50_us"] > 0
