"""Real duets over `synthetic` with planned delays: the sides do not disturb each other, and changes are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.analysis.results.run_results import Run, read
from hopmeter.comparison.trial_values import values
from hopmeter.store.samples import Samples
from tests.command import hopmeter

pytestmark = pytest.mark.slow

TURN_NS = 20_000_000
MESSAGES, WARMUP = 200, 20
SCENARIO = f"""
title = "Duets"
question = "Do the two sides have alternating turns?"
transport = "synthetic"
language = "rust"
placement = "thread"
wait = "block"
cores = "cross"
payload = "bytes:100"
rate = 1000
messages = {MESSAGES}
warmup = {WARMUP}
drain = "100ms"
trials = 8
seed = 3

[[case]]
settings.synthetic = {{ delay_us = 200 }}

[[case]]
settings.synthetic = {{ delay_us = 400 }}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("duets")
    (here / "duets.toml").write_text(SCENARIO)
    words = ("--against", "set:delay_us=200,seed=2", "--out", here / "run", "--no-report")
    hopmeter("run", here / "duets.toml", *words, check=True)
    return here / "run"


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return read(folder)


def duets(run: Run) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the trials of both sides, by duet."""
    by_place = {(trial["cell"], trial["round"]): trial for trial in values(run).values() if trial["good"]}
    new = [row.cell for row in run.rows if row.cell.comparison.side == "new"]
    places = [((cell.comparison.counterpart, number), (cell.id, number)) for cell in new for number in range(8)]
    return [(by_place[old], by_place[new]) for old, new in places if old in by_place and new in by_place]


def due_ns(run: Run, trial: dict[str, Any]) -> np.ndarray[Any, Any]:
    return Samples(run.folder / trial["samples"]).of(0, "due_ns")["due_ns"]


def test_every_pair_of_trials_is_a_duet(run: Run) -> None:
    assert len(duets(run)) == 16
    for old, new in duets(run):
        assert (old["turn_s"], new["turn_s"]) == (0.02, 0.02)
        assert old["start_ns"] == new["start_ns"]


def test_the_sides_are_never_due_in_the_same_turn(run: Run) -> None:
    for each in duets(run):
        due = [due_ns(run, trial) for trial in each]
        turns = [set(((own - trial["start_ns"]) // TURN_NS).tolist()) for own, trial in zip(due, each, strict=True)]
        assert [len(own) for own in due] == [MESSAGES, MESSAGES]
        assert {len({turn % 2 for turn in own}) for own in turns} == {1}
        assert not turns[0] & turns[1]


def test_the_median_of_each_turn_is_that_of_its_samples(run: Run) -> None:
    trial, _ = duets(run)[0]
    samples = Samples(run.folder / trial["samples"])
    source, sink = samples.of(0, "seq", "due_ns"), samples.of(1, "seq", "arrived_ns")
    arrived = dict(zip(sink["seq"].tolist(), sink["arrived_ns"].tolist(), strict=True))
    by_turn: dict[int, list[float]] = {}
    for seq, due in zip(source["seq"].tolist(), source["due_ns"].tolist(), strict=True):
        by_turn.setdefault((due - trial["start_ns"]) // (2 * TURN_NS), []).append((arrived[seq] - due) / 1000)
    found = {turn: median for turn, median in enumerate(trial["turn_medians_us"]) if median is not None}
    assert found == {turn: pytest.approx(np.median(each)) for turn, each in by_turn.items()}


def test_a_change_is_seen_and_not_exaggerated(folder: Path) -> None:
    """On a busy machine, both sides wait for the core for longer than the planned delay, so the ratio is below 2."""
    equal, slower = map(json.loads, hopmeter("compare", folder, "--json").stdout.splitlines())
    assert slower["ratio"] > 1.1
    assert slower["low"] <= 2.02
    assert equal["low"] <= 1.01 and equal["high"] >= 0.99
