"""A requirement is met or missed only if the whole confidence interval is on one side of the limit."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.text import Text

from hopmeter.analysis.cells.cell import Judged
from hopmeter.analysis.cells.requirement_intervals import Evidence
from hopmeter.analysis.cells.requirements import Judge, judge, judge_trials, overall
from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.analysis.latency.trial import Counts, Measured
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run, read
from hopmeter.cli.output import run_table
from hopmeter.model.trial import TrialResult
from hopmeter.report.answers.requirement_sentences import order_by_requirements, requirement_sentences
from hopmeter.report.sections import group_section
from hopmeter.scenario.requirement import parse
from hopmeter.store.run_folder import RunFolder
from hopmeter.system.terminal import Console
from tests.analysis.made import CELL, US
from tests.report import fixture, rows
from tests.report.fixture import Made

ROW: dict[str, Any] = {
    "status": "ok",
    "trials_good": 5,
    "median_low_us": 40.0,
    "median_us": 50.0,
    "median_high_us": 60.0,
    "cpu_core_percent_low": 4.0,
    "cpu_core_percent": 5.0,
    "cpu_core_percent_high": 6.0,
}


@pytest.mark.parametrize(
    ("wanted", "low", "high", "verdict"),
    [
        ("p99 < 2ms", 800, 1200, "meets"), ("p99 < 1ms", 800, 1200, "undecided"), ("p99 < 500us", 800, 1200, "misses"),
        ("p99 < 800us", 800, 1200, "misses"), ("p99 <= 800us", 800, 1200, "undecided"),
        ("p99 < 500us", 800, None, "misses"), ("p99 < 2ms", 800, None, "undecided"), ("p99 < 2ms", None, 900, "meets"),
        ("p99 < 2ms", math.inf, None, "misses"), ("p99 < 2ms", None, None, "undecided"),
        ("lost = 0", 0.0, 0.0, "meets"), ("lost = 0", 0.001, 0.001, "misses"), ("lost < 1%", 0.0, 0.009, "meets"),
    ],
)  # fmt: skip
def test_the_interval_decides(wanted: str, low: float | None, high: float | None, verdict: str) -> None:
    assert judge(parse(wanted), "ok", Evidence(low, high)) == verdict
    assert judge(parse(wanted), "saturated", Evidence(low, high)) == "misses"


@pytest.mark.parametrize(
    ("wanted", "verdict", "at_look"),
    [
        ("p50 < 80us", "meets", "undecided"), ("p50 < 60us", "undecided", "undecided"),
        ("p50 < 200us", "meets", "meets"), ("cpu < 7%", "meets", "undecided"), ("cpu < 3.9%", "misses", "undecided"),
    ],
)  # fmt: skip
def test_the_median_and_the_cpu_come_from_the_row_and_a_look_judges_by_wider_intervals(
    wanted: str, verdict: str, at_look: str
) -> None:
    for alpha, expected in ((0.05, verdict), (0.002, at_look)):
        assert Judge(CELL, [], [wanted], alpha).columns(ROW)["require"] == expected


def test_an_undecided_limit_says_how_many_rounds_it_takes() -> None:
    judged = Judge(CELL, [], ["p50 < 55us"]).columns(ROW)
    assert judged["require"] == "undecided" and 15 < judged["require_rounds"] < 35
    assert Judge(CELL, [], ["p50 < 50us"]).columns(ROW)["require_rounds"] is None, "at the limit no number decides"
    assert Judge(CELL, [], ["p50 < 80us"]).columns(ROW)["require_rounds"] is None


def trials_of(*late: int, lost: int = 0, us: float = 5000.0) -> list[Judged]:
    """Return trials of 125 messages. In each trial, the given number of messages take `us`, and all others take 50
    µs."""
    return [
        Judged(TrialResult(CELL.id, number, good=True), make_measured(many, lost, us))
        for number, many in enumerate(late)
    ]


def make_measured(late: int, lost: int, us: float) -> Measured:
    took = np.array([us * US] * late + [50 * US] * (125 - late - lost), np.int64)
    counts = Counts(sent=125, received=125 - lost, expected=125, messages=125)
    return Measured(counts, {"response": [took]}, Counter(response=lost))


@pytest.mark.parametrize(
    ("trials", "wanted", "verdict"),
    [
        (trials_of(*[0] * 8), "p99 < 1ms", "meets"),
        (trials_of(*[5] * 8), "p99 < 1ms", "misses"),
        (trials_of(*[1] * 8), "p99 < 1ms", "undecided"),
        (trials_of(*[0] * 8), "p99.9 < 1ms", "meets"),
        (trials_of(*[0] * 8), "p99.9 < 100us", "undecided"),
        (trials_of(*[0] * 3), "p99 < 100us", "undecided"),
        (trials_of(*[0] * 2), "p99 < 1s", "undecided"),
        (trials_of(40, *[0] * 7), "p99 < 1ms", "undecided"),
        (trials_of(40, *[0] * 7), "p99 < 6ms", "undecided"),
        (trials_of(40, *[0] * 7), "p99 < 1s", "meets"),
        (trials_of(*[0] * 8, lost=3), "p99 < 1ms", "misses"),
        (trials_of(*[1] * 8, lost=1), "p99 < 1ms", "undecided"),
    ],
)
def test_short_trials_are_counted_together(trials: list[Judged], wanted: str, verdict: str) -> None:
    assert Judge(CELL, trials, [wanted]).columns(ROW)["require"] == verdict


def test_a_look_at_short_trials_has_a_wider_interval() -> None:
    clear = trials_of(*[0] * 8)
    assert Judge(CELL, clear, ["p99 < 60us"], 0.05).columns(ROW)["require"] == "meets"
    assert Judge(CELL, clear, ["p99 < 60us"], 0.002).columns(ROW)["require"] == "undecided"
    assert Judge(CELL, trials_of(*[0] * 24), ["p99 < 60us"], 0.002).columns(ROW)["require"] == "meets"


def test_a_share_of_lost_messages_has_an_interval_that_knows_bursts() -> None:
    spread, burst = trials_of(*[0] * 40, lost=1), [*trials_of(0, lost=40), *trials_of(*[0] * 39)]
    for wanted, verdict, of_burst in (("lost < 1.6%", "meets", "undecided"), ("lost < 0.5%", "misses", "undecided")):
        assert Judge(CELL, spread, [wanted]).columns(ROW)["require"] == verdict
        assert Judge(CELL, burst, [wanted]).columns(ROW)["require"] == of_burst
    assert Judge(CELL, burst, ["lost = 0"]).columns(ROW)["require"] == "misses"


@pytest.mark.parametrize(("until", "verdict"), [("require", "undecided"), (None, "undecided"), ("order", "meets")])
def test_the_results_judge_at_the_level_of_the_last_look(tmp_path: Path, until: str | None, verdict: str) -> None:
    scenario = {"require": ["lost < 1%"], "until": until, "budget": "10s"}
    folder = RunFolder.open(
        fixture.build(tmp_path / "run", (Made("zenoh"),), trials=5, messages=150, scenario=scenario)
    )
    group = folder.cells[0].group
    folder.note(looks={group: [{"rounds": 5, "alpha": 0.002, "cells": [], "open": [], "decided": []}]})
    assert analyse_run(folder)[0]["require"] == verdict
    is_judged = judge_trials(folder, ["lost < 1%"])
    assert not is_judged(folder.cells[0], (None, None, None), 0.002) and is_judged(
        folder.cells[0], (None, None, None), 0.05
    )


def test_all_requirements_together() -> None:
    assert overall(["meets", "meets"]) == "meets"
    assert overall(["meets", "undecided"]) == "undecided"
    assert overall(["undecided", "misses", "meets"]) == "misses"


def required_run(*wanted: str) -> Run:
    used = {
        "zenoh": (10.0, 30.0, "meets"),
        "nng": (20.0, 3.0, "meets"),
        "grpc": (15.0, 9.0, "misses"),
        "mqtt": (30.0, 1.0, "undecided"),
    }
    made = [
        rows.cell(
            name,
            us,
            us - 1,
            us + 1,
            cpu_core_percent=cpu,
            require=verdict,
            require_each=[f"{text}: {verdict}" for text in wanted],
        )
        for name, (us, cpu, verdict) in used.items()
    ]
    return rows.run_of(*made, scenario={"require": list(wanted)})


@pytest.mark.parametrize(
    ("wanted", "order"),
    [("p99 < 1ms", ["nng", "zenoh", "mqtt", "grpc"]), ("cpu < 90%", ["zenoh", "nng", "mqtt", "grpc"])],
)
def test_rows_that_meet_come_first_ranked_by_what_is_left(wanted: str, order: list[str]) -> None:
    (group,) = groups([required_run(wanted)])
    assert [row["transport"] for row in order_by_requirements(group, group.choices)] == order
    said = " ".join(requirement_sentences(group))
    assert f"{order[0]} and {order[1]} meet {wanted}" in said and f": {order[0]} " in said
    assert "grpc misses the requirement." in said and "Undecided: mqtt" in said
    (table,) = group_section.section(group, []).tables
    assert [body.title for body in table.bodies] == ["Meet the requirements", "Undecided", "Miss the requirements"]


def test_the_table_names_what_is_missed() -> None:
    console = Console(width=200)
    with console.capture() as said:
        run_table.print_run(console, required_run("p99 < 1ms", "lost = 0"))
    lines = {words[1]: line for line in said.get().splitlines() if len(words := line.split()) > 5}
    assert lines["nng"].rstrip().endswith("meets") and "p99 < 1ms: misses" in lines["grpc"]
    assert str(Text("nng and zenoh meet p99 < 1ms and lost = 0 (sorted by CPU)")) in " ".join(said.get().split())


def test_the_verdicts_are_columns_of_a_run(tmp_path: Path) -> None:
    made = (Made("zenoh", us=20.0), Made("nng", us=900.0), Made("tcp", us=20.0, lost=2))
    wanted = ["p50 < 100us", "lost = 0"]
    run = read(fixture.build(tmp_path / "run", made, trials=5, messages=200, scenario={"require": wanted}))
    assert {row["transport"]: row["require"] for row in run.rows} == {
        "zenoh": "meets",
        "nng": "misses",
        "tcp": "misses",
    }
    assert run.rows[2]["require_each"] == ["p50 < 100us: meets", "lost = 0: misses"]
    without = read(fixture.build(tmp_path / "other", made[:1], trials=3, messages=100))
    assert without.rows[0]["require"] is None and without.rows[0]["require_each"] is None
