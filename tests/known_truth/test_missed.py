"""A gate on real runs of a workload over `synthetic`, whose late messages are planned: it fails if more deadlines are
missed, and only then."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.command import hopmeter

WORKLOAD = """
title = "Missed deadlines"
question = "Does the gate see them?"
transport = "synthetic"
language = "rust"
wait = "block"
cores = "free"
duration = "1s"
trials = TRIALS
drain = "1100ms"
settings.synthetic = { late_us = 800_000, late_every = EVERY }
[participant]
first = {}
second = {}
[flow]
forth = { from = "first", to = "second", rate = 100, deadline = "400ms" }
back = { from = "second", to = "first", rate = 50 }
"""
RARELY, OFTEN = 20, 4


def measure(folder: Path, name: str, every: int, *options: str, trials: int = 4) -> CompletedProcess[str]:
    scenario = folder / f"{name}.toml"
    scenario.write_text(WORKLOAD.replace("EVERY", str(every)).replace("TRIALS", str(trials)))
    return hopmeter("run", scenario, "--out", folder / name, "--no-report", *options)


@pytest.mark.parametrize(("every", "code"), [(RARELY, 0), (OFTEN, 3)])
def test_the_gate_on_both_sides_of_a_run(every: int, code: int, tmp_path: Path) -> None:
    old = f"set:late_every={RARELY},seed=2"
    done = measure(tmp_path, "run", every, "--against", old, "--fail-if", "slower:900%", trials=3)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("(miss_share): misses more deadlines" in done.stdout) == (code == 3)
    lines = map(json.loads, hopmeter("compare", tmp_path / "run", "--json").stdout.splitlines())
    found = {each["flow"]: each for each in lines if each["metric"] == "miss_share"}
    assert found.keys() == {"", "forth"}
    for each in found.values():
        assert (each["old"], each["new"]) == (pytest.approx(1 / RARELY), pytest.approx(1 / every))
        assert each["low"] <= each["difference"] <= each["high"]


def test_the_gate_on_a_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for hour, name in enumerate(("a", "b", "c", "equal")):
        assert measure(tmp_path, name, RARELY).returncode == 0
        date_run(tmp_path / name, hour)
    assert measure(tmp_path, "worse", OFTEN).returncode == 0
    call_equal(tmp_path / "worse")
    assert hopmeter("baseline", "main", "a", "b", "c").returncode == 0
    equal, worse = (hopmeter("compare", "main", name, "--fail-if", "missed:2%") for name in ("equal", "worse"))
    assert (equal.returncode, worse.returncode) == (0, 3), equal.stdout + worse.stdout
    assert "the whole workload (miss_share): misses more deadlines, by more than 2 points" in worse.stdout


def date_run(folder: Path, hour: int) -> None:
    """Let a run begin at another hour."""
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**about, "started": f"2026-11-21T0{hour}:00:00+00:00"}))


def call_equal(folder: Path) -> None:
    """Give a run the settings of the others: a version of the library that is late more often would have them."""
    text = (folder / "run.json").read_text()
    for before, after in (
        (f'late_every": {OFTEN}', f'late_every": {RARELY}'),
        (f"late_every={OFTEN}", f"late_every={RARELY}"),
    ):
        text = text.replace(before, after)
    (folder / "run.json").write_text(text)
