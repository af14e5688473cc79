"""Recordings that cannot be replayed: reported with file, topic and remedy before anything is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hopmeter.system.scratch_dir import sweep
from tests.coded import lacking
from tests.recordings.made import START_NS, write_mcap, write_ros1, write_ros2

pytestmark = pytest.mark.slow

SECOND = 1_000_000_000
SCENARIO = """
title = "Replay"
question = "What does a recording that cannot be replayed say?"
transport = "synthetic"
wait = "block"
cores = "free"
duration = "1s"
trials = 1
[participant]
camera = {{ language = "rust" }}
detector = {{ language = "rust" }}
[flow]
lidar = {{ from = "camera", to = "detector", replay = "{replay}" }}
"""
SOUND = [(START_NS + number * SECOND // 10, bytes(1000)) for number in range(5)]


def run(folder: Path, replay: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "replay.toml").write_text(SCENARIO.format(replay=replay))
    words = [sys.executable, "-m", "hopmeter", "run", "replay.toml", "--out", "run", "--no-report", *options]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=120, check=False)


def cut(path: Path) -> Path:
    os.truncate(path, path.stat().st_size // 2)
    return path


def cut_database(folder: Path) -> Path:
    [database] = folder.glob("*.db3")
    database.write_bytes(b"SQLite format 3\0" + bytes(5000))
    return folder


CASES: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "missing": (lambda folder: folder / "drive.mcap", "/t", "E-FILE-UNREADABLE flow.lidar.replay drive.mcap"),
    "no recording": (lambda folder: folder / "replay.toml", "/t", "E-RECORDING flow.lidar.replay .mcap .bag"),
    "no topic": (lambda folder: write_mcap(folder / "a.mcap", {"/t": SOUND}), "/x", "E-NO-TOPIC flow.lidar.replay /t"),
    "no message": (
        lambda folder: write_mcap(folder / "a.mcap", {"/t": []}),
        "/t",
        "E-RECORDING-EMPTY flow lidar: a.mcap:/t",
    ),
    "cut mcap": (lambda folder: cut(write_mcap(folder / "a.mcap", {"/t": SOUND})), "/t", "E-RECORDING damaged a.mcap"),
    "cut bag": (lambda folder: cut(write_ros1(folder / "a.bag", {"/t": SOUND})), "/t", "E-RECORDING damaged a.bag"),
    "damaged database": (
        lambda folder: cut_database(write_ros2(folder / "a", {"/t": SOUND})),
        "/t",
        "E-RECORDING damaged",
    ),
    "backwards": (
        lambda folder: write_mcap(
            folder / "a.mcap", {"/t": [*SOUND, (START_NS + 19 * SECOND // 10, b""), *SOUND]}, indexed=False
        ),
        "/t",
        "E-RECORDING-TIMES flow lidar: 1 s",
    ),
    "negative": (
        lambda folder: write_mcap(folder / "a.mcap", {"/t": [((1 << 64) - 5, b"")]}),
        "/t",
        "E-RECORDING-TIMES flow lidar: 1970",
    ),
    "too many": (
        lambda folder: write_mcap(folder / "a.mcap", {"/t": [(START_NS, b""), (START_NS + 1, b"")]}),
        '/t", loop = true, deadline = "1s',
        "E-RECORDING-ROOM flow lidar: 1,000,000 `duration`",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_recording_that_cannot_be_replayed_begins_nothing(tmp_path: Path, case: str) -> None:
    make, topic, expected = CASES[case]
    (tmp_path / "replay.toml").write_text("")
    done = run(tmp_path, f"{make(tmp_path)}:{topic}")
    assert done.returncode == 2, done.stderr
    assert lacking(" ".join(done.stderr.split()), expected) == []
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_the_dry_run_says_that_the_flow_ends_with_the_recording(tmp_path: Path) -> None:
    done = run(tmp_path, f"{write_mcap(tmp_path / 'a.mcap', {'/t': SOUND})}:/t", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "ends with the recording after 0.4 s of 1 s" in " ".join(done.stdout.split())


def test_a_run_that_is_continued_with_another_recording_is_refused(tmp_path: Path) -> None:
    mcap = write_mcap(tmp_path / "a.mcap", {"/t": SOUND})
    assert run(tmp_path, f"{mcap}:/t").returncode == 0
    write_mcap(mcap, {"/t": [(time, b"changed") for time, _ in SOUND]})
    words = [sys.executable, "-m", "hopmeter", "run", "--resume", "run", "--no-report"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == 2
    assert lacking(done.stderr, "E-PAYLOAD-CHANGED lidar a.mcap") == []
    assert sweep() == []
