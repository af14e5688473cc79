"""Test how often equal shares of missed deadlines are called different, and that a gate fails if more deadlines are
missed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator

from hopmeter.comparison import baselines
from hopmeter.comparison.change import SHARE, Change, judge
from hopmeter.comparison.missed import BetweenRounds, BetweenRuns
from hopmeter.model.cell import Cell
from hopmeter.model.columns import PLANNED
from hopmeter.model.trial import TrialResult
from hopmeter.plan.workloads.workload_cells import rows_of
from hopmeter.statistics.shares.share_runs import compare_share_runs
from hopmeter.statistics.shares.share_tests import ShareTrial, compare_share_of_two
from hopmeter.store.run_folder import RunFolder
from tests.cells import cell
from tests.report.rows import cell as row_of
from tests.report.rows import run_of
from tests.workload_runs import WORKLOAD

from .runs import MACHINE
from .test_compare import HOURS, Hopmeter, with_sides

TABLES = 200
MOST_FALSE = 0.05 + 2 * (0.05 * 0.95 / TABLES) ** 0.5
"""The limit on the share of false differences: 5 % plus two standard errors, because the number of tables is small."""
NOISE = 0.5
"""The standard deviation of the logarithm of the missed share between trials."""
MESSAGES = 2500


def draw(
    rng: Generator, name: str, share: float, trials: int = 8, drift: float = 0.0, burst: int = 1
) -> list[ShareTrial]:
    """Return random trials of a cell in one run; missed deadlines come in groups of `burst`."""
    shares = np.clip(share * np.exp(drift * rng.normal() + NOISE * rng.normal(size=trials)), 0, 1)
    counts = burst * rng.binomial(MESSAGES // burst, shares)
    return [ShareTrial(name, at, int(each), MESSAGES) for at, each in enumerate(counts)]


def judge_estimates(estimates: Sequence[BetweenRounds | BetweenRuns]) -> list[Change]:
    run = run_of(*(row_of(f"transport{at}", 1.0) for at in range(len(estimates))))
    return judge([Change(row, SHARE, None, None, each) for row, each in zip(run.rows, estimates, strict=True)])


def between_rounds(old: list[ShareTrial], new: list[ShareTrial]) -> BetweenRounds:
    found = compare_share_of_two("old", "new", [*old, *new])
    assert found is not None
    return BetweenRounds(found)


def is_different(estimates: Sequence[BetweenRounds | BetweenRuns]) -> bool:
    return bool({each.verdict for each in judge_estimates(estimates)} & {"more_missed", "fewer_missed"})


@pytest.mark.parametrize(("share", "burst", "cells"), [(0.0004, 1, 1), (0.02, 20, 1), (0.02, 20, 4)])
def test_equal_sides_of_one_run_rarely_differ(share: float, burst: int, cells: int) -> None:
    rng = np.random.default_rng([cells, burst])
    false = sum(
        is_different(
            [between_rounds(*(draw(rng, name, share, burst=burst) for name in ("old", "new"))) for _ in range(cells)]
        )
        for _ in range(TABLES)
    )
    assert false <= MOST_FALSE * TABLES


@pytest.mark.parametrize("drift", [0.0, 0.3, 0.8])
@pytest.mark.parametrize(("runs", "cells"), [(3, 1), (8, 4)])
@pytest.mark.parametrize(("share", "burst"), [(0.0004, 1), (0.02, 20)])
def test_a_run_that_equals_its_baseline_rarely_differs(
    share: float, burst: int, runs: int, cells: int, drift: float
) -> None:
    rng = np.random.default_rng([runs, cells, burst])

    def estimate() -> BetweenRuns:
        *old, new = (draw(rng, "x", share, drift=drift, burst=burst) for _ in range(runs + 1))
        return BetweenRuns(compare_share_runs(old, [new]), 0.0)

    false = sum(is_different([estimate() for _ in range(cells)]) for _ in range(TABLES))
    assert false <= MOST_FALSE * TABLES


def test_runs_without_a_miss_are_the_same_and_a_run_with_one_percent_is_not() -> None:
    rng = np.random.default_rng(1)
    none, some = ([draw(rng, "x", share) for _ in range(3)] for share in (0.0, 0.01))
    alike, worse = (
        BetweenRuns(compare_share_runs(none, [new]), difference)
        for new, difference in ((none[0], 0.0), (some[0], 0.01))
    )
    assert [each.verdict for each in judge_estimates([alike, worse])] == ["same", "more_missed"]
    assert worse.p_value(0.0) < 0.001 < 0.5 < worse.p_value(0.05), "five points more are allowed"
    low, high = worse.bounds(0.05)
    assert 0 < low < 0.01 < high < 0.1


def test_one_miss_in_each_round_is_no_proof() -> None:
    old, new = ([ShareTrial(name, at, events, 1000) for at in range(5)] for name, events in (("old", 0), ("new", 1)))
    (found,) = judge_estimates([between_rounds(old, new)])
    assert found.verdict == "same" and found.low == 0 and between_rounds(old, new).p_value(0.0) > 0.025


def make_run(path: Path, misses: dict[str, Sequence[int]], started: str = HOURS[0], sides: bool = False) -> Path:
    """Write a finished run of a workload over `zeromq`, with the misses of the flow `frames` out of 1000 for each
    trial."""
    cells = [cell(id=name, transport="zeromq", payload="workload", rate_hz=None, workload=WORKLOAD) for name in misses]
    if sides:
        old, new = cells
        cells = [
            old.with_values(side="old", counterpart=new.id),
            new.with_values(side="new", counterpart=old.id),
        ]
    about = {"cells": [each.as_json() for each in cells], "started": started, "machine": dict(MACHINE)}
    folder = RunFolder.create(path.parent, path.name, {**about, **({"against": "set:hwm=1"} if sides else {})})
    for each in cells:
        for number, missed in enumerate(misses[each.id]):
            result = TrialResult(each.id, number, good=True, round=number, steal_share=0.0)
            folder.add_trial(result, [])
            for part in rows_of(each):
                folder.judge(replace(result, cell=part.id), _values(part, missed, number))
    return folder.finish([_row(part) for each in cells for part in rows_of(each)])


def _values(part: Cell, missed: int, number: int) -> dict[str, object]:
    own = 0 if part.flow == "commands" else missed
    return {"deadlines": 2000 if part.is_whole_workload else 1000, "missed": own, "median_us": 100.0 + number}


def _row(part: Cell) -> dict[str, object]:
    planned = {name: part.get(name) for name in PLANNED}
    names = {"flow": part.flow, "path": part.path}
    return {**planned, **names, "cell": part.id, "status": "ok", "lost": 0, "received": 1000, "missed_share": 0.01}


FEW, MANY = [20, 22, 18, 21, 19, 20, 23, 17], [90, 85, 95, 88, 93, 91, 87, 90]


@pytest.mark.parametrize(
    ("new", "rules", "code"),
    [
        (FEW[::-1], ["slower:5%"], 0),
        (MANY, ["slower:5%"], 3),
        (MANY, ["missed:1%"], 3),
        (MANY, ["missed:10%"], 0),
        (MANY, ["slower:5%", "missed:10%"], 0),
    ],
)
def test_the_gate_sees_missed_deadlines_of_the_whole_and_of_each_flow(
    new: list[int], rules: list[str], code: int, tmp_path: Path, hopmeter_here: Hopmeter
) -> None:
    run = make_run(tmp_path / "run", {"old": FEW, "new": new}, sides=True)
    words = [word for rule in rules for word in ("--fail-if", rule)]
    ran = hopmeter_here("compare", str(run), *words, "--json")
    rows = {row["flow"]: row for row in map(json.loads, ran.stdout.splitlines()) if row["metric"] == SHARE}
    assert ran.returncode == code
    assert rows["frames"]["difference"] == pytest.approx((sum(new) - sum(FEW)) / 8000)
    assert rows[""]["difference"] == pytest.approx(rows["frames"]["difference"] / 2)
    assert rows["commands"]["verdict"] == "same"
    assert rows["frames"]["low"] <= rows["frames"]["difference"] <= rows["frames"]["high"]


def test_the_terminal_and_the_files_show_missed_deadlines(tmp_path: Path, hopmeter_here: Hopmeter) -> None:
    run = make_run(tmp_path / "run", {"old": FEW, "new": MANY}, sides=True)
    summary, junit = tmp_path / "s.md", tmp_path / "j.xml"
    files = ["--summary", str(summary), "--junit", str(junit), "--export", f"bencher:{tmp_path / 'b.json'}"]
    ran = hopmeter_here("compare", str(run), "--fail-if", "slower:5%", *files)
    said = " ".join(ran.stdout.split()).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert ran.returncode == 3
    assert "Missed deadlines: of 3 cells, 2 are late more often (zeromq (rust) the whole workload +" in said
    assert "gate failed: zeromq (rust) frames (missed_share): misses more deadlines" in said
    assert "old % missed" in said and "late more often" in summary.read_text()
    assert junit.read_text().count("<failure") == 2
    assert '"missed"' in (tmp_path / "b.json").read_text()


@pytest.mark.parametrize(("new", "code"), [(FEW, 0), (MANY, 3)])
def test_a_baseline_knows_how_much_missed_deadlines_drift(
    new: list[int], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hopmeter_here: Hopmeter
) -> None:
    monkeypatch.chdir(tmp_path)
    several = [
        make_run(tmp_path / f"r{at}", {"c": [each + at for each in FEW]}, start) for at, start in enumerate(HOURS)
    ]
    baselines.store("main", several)
    run = make_run(tmp_path / "new", {"c": new})
    ran = hopmeter_here("compare", "main", str(run), "--fail-if", "slower:5%")
    assert ran.returncode == code
    assert ("gate failed: zeromq (rust) the whole workload (missed_share)" in ran.stdout) == (code == 3)


def test_a_rule_for_deadlines_needs_deadlines(tmp_path: Path, hopmeter_here: Hopmeter) -> None:
    ran = hopmeter_here("compare", str(with_sides(tmp_path, 1.0)), "--fail-if", "missed:1%")
    assert ran.returncode == 2 and "E-GATE" in ran.stderr
