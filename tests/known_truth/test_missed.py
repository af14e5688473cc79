"""A gate on real runs over `synthetic` with planned late messages fails only if more deadlines are missed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.command import hopmeter

pytestmark = pytest.mark.slow

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
SIDES = {"same": RARELY, "more": OFTEN}
"""Runs with two sides, each with how often messages are late on the new side."""
WHOLE = {"a": RARELY, "b": RARELY, "c": RARELY, "equal": RARELY, "worse": OFTEN}
AT_ONCE = 4
"""The number of concurrent runs. The runs mostly sleep, so even a busy machine delays no message by half a deadline."""


def measure(folder: Path, name: str, every: int, *options: str, trials: int = 4) -> CompletedProcess[str]:
    scenario = folder / f"{name}.toml"
    scenario.write_text(WORKLOAD.replace("EVERY", str(every)).replace("TRIALS", str(trials)))
    return hopmeter("run", scenario, "--out", folder / name, "--no-report", *options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("missed")


@pytest.fixture(scope="module")
def done(folder: Path) -> dict[str, CompletedProcess[str]]:
    gate = ("--against", f"set:late_every={RARELY},seed=2", "--fail-if", "slower:900%")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = {name: pool.submit(measure, folder, name, every) for name, every in WHOLE.items()}
        started |= {name: pool.submit(measure, folder, name, every, *gate, trials=3) for name, every in SIDES.items()}
    return {name: each.result() for name, each in started.items()}


@pytest.mark.parametrize(("name", "code"), [("same", 0), ("more", 3)])
def test_the_gate_on_both_sides_of_a_run(
    done: dict[str, CompletedProcess[str]], folder: Path, name: str, code: int
) -> None:
    said = done[name].stdout
    assert done[name].returncode == code, said + done[name].stderr
    assert ("(missed_share): misses more deadlines" in said) == (code == 3)
    lines = map(json.loads, hopmeter("compare", folder / name, "--json").stdout.splitlines())
    found = {each["flow"]: each for each in lines if each["metric"] == "missed_share"}
    assert found.keys() == {"", "forth"}
    for each in found.values():
        assert (each["old"], each["new"]) == (pytest.approx(1 / RARELY), pytest.approx(1 / SIDES[name]))
        assert each["low"] <= each["difference"] <= each["high"]


def test_the_gate_on_a_baseline(
    done: dict[str, CompletedProcess[str]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for hour, name in enumerate(WHOLE):
        assert done[name].returncode == 0, done[name].stdout + done[name].stderr
        date_run(folder / name, hour)
    call_equal(folder / "worse")
    assert hopmeter("baseline", "main", "a", "b", "c").returncode == 0
    equal, worse = (hopmeter("compare", "main", name, "--fail-if", "missed:2%") for name in ("equal", "worse"))
    assert (equal.returncode, worse.returncode) == (0, 3), equal.stdout + worse.stdout
    assert "the whole workload (missed_share): misses more deadlines, by more than 2 points" in worse.stdout


def date_run(folder: Path, hour: int) -> None:
    """Move the start of a run to another hour."""
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**about, "started": f"2026-11-21T0{hour}:00:00+00:00"}))


def call_equal(folder: Path) -> None:
    """Make a run's settings equal to the settings of the other runs, as if only the library version differed."""
    text = (folder / "run.json").read_text()
    for before, after in (
        (f'late_every": {OFTEN}', f'late_every": {RARELY}'),
        (f"late_every={OFTEN}", f"late_every={RARELY}"),
    ):
        text = text.replace(before, after)
    (folder / "run.json").write_text(text)
