"""Tests for the keys of a flow that replays a recording, and for keys that exclude each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recordings.made import write_mcap

from .test_graph import FLOWS, HEAD, PARTICIPANTS, check_fault, load

ENDS = 'from = "camera", to = "detector"'


@pytest.fixture
def mcap(tmp_path: Path) -> Path:
    return write_mcap(tmp_path / "drive.mcap", {"/lidar": [(5, b"a")], "/imu": [(5, b"b")]})


def test_a_flow_may_replay_a_recording(tmp_path: Path, mcap: Path) -> None:
    flow = f'lidar = {{ {ENDS}, replay = "{mcap}:/lidar", speed = 2, loop = true, latest = "ask", deadline = "9ms" }}\n'
    caller = 'ask = { from = "motor", call = "detector", rate = 5 }'
    back = FLOWS.replace(caller, 'ask = { from = "motor", to = "camera", rate = 5 }')
    found = load(tmp_path, HEAD + PARTICIPANTS + back + flow).flow["lidar"]
    assert (found.replay, found.speed, found.loop) == (f"{mcap}:/lidar", 2.0, True)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ('replay = "MCAP:/lidar", rate = 5', "E-VALUES-CONFLICT flow.new.rate: replay"),
        ('replay = "MCAP:/lidar", after = "frames"', "E-VALUES-CONFLICT flow.new.after: replay"),
        ('replay = "MCAP:/lidar", pace = "poisson"', "E-VALUES-CONFLICT flow.new.pace: replay"),
        ('replay = "MCAP:/lidar", burst = 2', "E-VALUES-CONFLICT flow.new.burst: replay"),
        ('replay = "MCAP:/lidar", payload = "bytes:5"', "E-VALUES-CONFLICT flow.new.payload: replay"),
        ('replay = "MCAP:/lidar", codec = "numpy"', "E-VALUES-CONFLICT flow.new.codec: replay"),
        ('replay = "MCAP:/lidar", touch = "none"', "E-VALUES-CONFLICT flow.new.touch: recording"),
        ('replay = "MCAP:/lidar", work = "spin:1ms"', "E-VALUES-CONFLICT flow.new.work: clock"),
        ('replay = "MCAP:/lidar", every = 2', "E-VALUES-CONFLICT flow.new: `every` `after`"),
        ('replay = "MCAP:/lidar", speed = 0', "E-VALUE-RANGE flow.new.speed 0.001"),
        ('replay = "MCAP:/lidar", speed = 1001', "E-VALUE-RANGE flow.new.speed 1000"),
        ('replay = "MCAP:/lidar", loop = 1', "E-VALUE-FORM flow.new.loop"),
        ("rate = 5, speed = 2.0", "E-VALUES-CONFLICT flow.new: `speed` `replay`"),
        ("rate = 5, loop = true", "E-VALUES-CONFLICT flow.new: `loop` `replay`"),
        ('replay = "MCAP"', "E-NO-TOPIC flow.new.replay: /lidar"),
        ('replay = "drive"', "E-VALUE-FORM flow.new.replay: drive.mcap:/lidar/points"),
        ('replay = "MCAP:/points"', "E-NO-TOPIC flow.new.replay: /points /imu, /lidar"),
        ('replay = "missing.mcap:/points"', "E-FILE-UNREADABLE flow.new.replay: missing.mcap"),
    ],
)
def test_a_replay_that_does_not_fit(tmp_path: Path, mcap: Path, keys: str, expected: str) -> None:
    keys = keys.replace("MCAP:", f"{mcap}:").replace('"MCAP"', f'"{mcap}:points"')
    check_fault(tmp_path, f"{HEAD}{PARTICIPANTS}{FLOWS}new = {{ {ENDS}, {keys} }}\n", "new = ", expected)


def test_replay_is_no_pace_that_a_scenario_names(tmp_path: Path) -> None:
    flow = f'new = {{ {ENDS}, rate = 5, pace = "replay" }}\n'
    check_fault(
        tmp_path, f"{HEAD}{PARTICIPANTS}{FLOWS}{flow}", "new = ", 'E-VALUE-CHOICE flow.new.pace: "replay" burst'
    )
