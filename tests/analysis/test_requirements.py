"""A requirement is met or missed only if the whole interval is on one side of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from hopmeter.analysis.groups import groups
from hopmeter.analysis.requirements import judge, judge_trials, overall
from hopmeter.analysis.run_results import Run, read
from hopmeter.analysis.whole_run import analyse_run
from hopmeter.cli.parts import run_table
from hopmeter.report import ranking_table
from hopmeter.report.requirement_sentences import order_by_requirements, requirement_sentences
from hopmeter.scenario.requirement import parse
from hopmeter.store import RunFolder
from hopmeter.system.terminal import Console
from tests.report import fixture, rows
from tests.report.fixture import Made

ROW: dict[str, Any] = {
    "status": "ok",
    "lost": 0,
    "received": 5000,
    "response_p99_low_us": 800.0,
    "response_p99_high_us": 1200.0,
    "median_low_us": 40.0,
    "median_high_us": 60.0,
    "cpu_core_percent_low": 4.0,
    "cpu_core_percent_high": 6.0,
}


@pytest.mark.parametrize(
    ("wanted", "verdict"),
    [
        ("p99 < 2ms", "meets"), ("p99 < 1ms", "undecided"), ("p99 < 500us", "misses"), ("p99 < 800us", "misses"),
        ("p99 <= 800us", "undecided"), ("p50 < 61us", "meets"), ("p50 < 60us", "undecided"), ("p50 <= 60us", "meets"),
        ("cpu < 7%", "meets"), ("cpu < 5%", "undecided"), ("cpu < 3%", "misses"), ("lost = 0", "meets"),
        ("lost < 1%", "meets"), ("lost < 0.01%", "undecided"),
    ],
)  # fmt: skip
def test_the_interval_decides(wanted: str, verdict: str) -> None:
    assert judge(parse(wanted), ROW, "response") == verdict


def test_one_lost_message_misses_none_lost_and_a_share_has_its_interval() -> None:
    lossy = ROW | {"lost": 5, "received": 995}
    assert judge(parse("lost = 0"), lossy, "response") == "misses"
    assert judge(parse("lost < 0.1%"), lossy, "response") == "misses"
    assert judge(parse("lost < 0.5%"), lossy, "response") == "undecided"
    assert judge(parse("lost < 2%"), lossy, "response") == "meets"


def test_without_an_interval_it_is_undecided_and_without_a_result_missed() -> None:
    assert judge(parse("p99 < 2ms"), ROW | {"response_p99_high_us": None}, "response") == "undecided"
    assert judge(parse("p99 < 2ms"), ROW | {"status": "saturated"}, "response") == "misses"
    assert judge(parse("lost = 0"), ROW | {"lost": None}, "response") == "undecided"


def test_a_look_judges_by_a_wider_interval() -> None:
    row = ROW | {"response_p99_us": 1000.0, "trials_good": 5}
    for wanted, verdict, at_look in (("p99 < 1.3ms", "meets", "undecided"), ("p99 < 780us", "misses", "undecided")):
        assert judge(parse(wanted), row, "response") == verdict
        assert judge(parse(wanted), row, "response", 0.002) == at_look
    assert judge(parse("p99 < 5ms"), row, "response", 0.002) == "meets"
    assert judge(parse("lost < 0.1%"), row, "response") == "meets"
    assert judge(parse("lost < 0.1%"), row, "response", 0.002) == "undecided"


@pytest.mark.parametrize(("until", "verdict"), [("require", "undecided"), ("order", "meets")])
def test_the_results_judge_at_the_level_of_the_last_look(tmp_path: Path, until: str, verdict: str) -> None:
    scenario = {"require": ["lost < 1%"], "until": until, "budget": "10s"}
    folder = RunFolder.open(
        fixture.build(tmp_path / "run", (Made("zenoh"),), trials=5, messages=100, scenario=scenario)
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
    """Four transports: the fastest needs the most CPU."""
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
    assert f"{order[0]} and {order[1]} meet {wanted}" in said and f"{order[0]} has a" in said
    assert "grpc misses the requirement." in said and "Undecided: mqtt" in said
    (table,) = ranking_table.section(group, []).tables
    assert [body.title for body in table.bodies] == ["Meet the requirements", "Undecided", "Miss the requirements"]


def test_the_table_names_what_is_missed() -> None:
    console = Console(width=200)
    with console.capture() as said:
        run_table.print_run(console, required_run("p99 < 1ms", "lost = 0"))
    lines = {words[1]: line for line in said.get().splitlines() if len(words := line.split()) > 5}
    assert lines["nng"].rstrip().endswith("meets") and "p99 < 1ms: misses" in lines["grpc"]
    assert str(Text("nng and zenoh meet p99 < 1ms and lost = 0, the least CPU first")) in " ".join(said.get().split())


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
