"""Recordings that cannot be replayed are reported before the measurement, with file, topic and remedy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hopmeter.system.scratch_dir import sweep
from tests.coded import lacking
from tests.command import Ran, hopmeter
from tests.recordings.made import START_NS, write_mcap

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


def run(folder: Path, replay: str, *options: str) -> Ran:
    (folder / "replay.toml").write_text(SCENARIO.format(replay=replay))
    return hopmeter("run", "replay.toml", "--out", "run", "--no-report", *options, cwd=folder)


def cut(path: Path) -> Path:
    os.truncate(path, path.stat().st_size // 5)
    return path


CASES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "cut off": (lambda folder: cut(write_mcap(folder / "a.mcap", {"/t": SOUND})), "E-RECORDING damaged a.mcap"),
    "without times": (
        lambda folder: write_mcap(folder / "a.mcap", {"/t": [(0, data) for _, data in SOUND]}),
        "E-RECORDING-TIMES flow lidar: a.mcap:/t",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_recording_that_cannot_be_replayed_begins_nothing(tmp_path: Path, case: str) -> None:
    make, expected = CASES[case]
    done = run(tmp_path, f"{make(tmp_path)}:/t")
    assert done.returncode == 2, done.stderr
    assert lacking(" ".join(done.stderr.split()), expected) == []
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_the_dry_run_says_that_the_flow_ends_with_the_recording(tmp_path: Path) -> None:
    done = run(tmp_path, f"{write_mcap(tmp_path / 'a.mcap', {'/t': SOUND})}:/t", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "the recording ends after 0.4 s of 1 s" in " ".join(done.stdout.split())


def test_the_dry_run_says_what_is_left_out_of_the_recording(tmp_path: Path) -> None:
    early = [(SECOND * number, b"early") for number in (5, 6)]
    mcap = write_mcap(tmp_path / "a.mcap", {"/t": [*early, *SOUND]}, indexed=False)
    done = run(tmp_path, f"{mcap}:/t", "--dry-run")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "flow lidar (replay:a.mcap:/t): left out 2 messages before the clock jumped forward by 53.9 years" in said


def test_a_run_that_is_continued_with_another_recording_is_refused(tmp_path: Path) -> None:
    mcap = write_mcap(tmp_path / "a.mcap", {"/t": SOUND})
    assert run(tmp_path, f"{mcap}:/t").returncode == 0
    write_mcap(mcap, {"/t": [(time, b"changed") for time, _ in SOUND]})
    done = hopmeter("run", "--resume", "run", "--no-report", cwd=tmp_path)
    assert done.returncode == 2
    assert lacking(done.stderr, "E-PAYLOAD-CHANGED lidar a.mcap") == []
    assert sweep() == []
