"""Tests for resource use per process, over trials, and summed over similar processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hopmeter.analysis.cost.process_use import Process, merge_roles, processes
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.cli.parts.application import app, register_all
from hopmeter.report import write
from hopmeter.report.sections import environment
from hopmeter.report.sections.process_section import sections
from hopmeter.report.tables.page import on_page
from hopmeter.report.tables.processes import ProcessRow, between, process_rows
from hopmeter.report.warnings.result_rules import warnings
from tests.report import fixture
from tests.report.rows import cell, run_of


def node(role: str, pid: int = 1, pacing_ms: float = 0, sent: int = 100, **used: Any) -> dict[str, Any]:
    told = {"role": role, "sent": sent, "pacing_ns": int(pacing_ms * 1e6)}
    resources = {"interval_ns": 1_000_000_000, "user_us": 0, "system_us": 0, **used}
    return {"endpoints": [told], "language": "rust", "pid": pid, "resources": resources}


def measured_row(*trials: list[dict[str, Any]], good: bool = True, **conditions: Any) -> Row:
    run: Run = run_of(cell("shm", 10, **conditions))
    (row,) = run.rows
    run.trials += [{"cell": row.id, "trial": number, "good": good, "nodes": each} for number, each in enumerate(trials)]
    return row


def of_group(row: Row) -> ProcessRow:
    (found,) = process_rows(groups([row.run])[0])
    return found


def middle(process: Process, name: str) -> float:
    found = process[name]
    assert found is not None
    return found.middle


def test_the_middle_of_the_trials_has_the_least_and_the_most_beside_it() -> None:
    trials = [[node("source"), node("sink", user_us=us, voluntary_switches=200)] for us in (40_000, 20_000, 90_000)]
    source, sink = processes(measured_row(*trials))
    assert (source.name, sink.name) == ("source", "sink")
    assert sink["cpu_percent"] is not None
    assert (sink["cpu_percent"].middle, between(sink["cpu_percent"])) == (4, "2.0 to 9.0")
    assert middle(sink, "voluntary_switches_per_message") == 2
    assert middle(sink, "cpu_us_per_message") == 400


def test_the_processes_of_a_participant_are_added_up_in_each_trial() -> None:
    near = {"participant": "gateway", "carrier": "zeromq"}
    far = {"participant": "gateway", "carrier": "zenoh"}
    camera = {"participant": "camera", "carrier": "zeromq"}
    trials = [
        [
            node("source", user_us=us) | camera,
            node("sink", user_us=us, rss_peak_bytes=2_000_000) | near,
            node("follower", user_us=2 * us, rss_peak_bytes=3_000_000, voluntary_switches=100) | far,
        ]
        for us in (10_000, 20_000, 30_000)
    ]
    first, gateway = processes(measured_row(*trials))
    assert (first.name, gateway.name, gateway.roles) == ("camera", "gateway, 2 processes", "sink+follower")
    assert gateway["cpu_percent"] is not None
    assert (gateway["cpu_percent"].middle, gateway["cpu_percent"].low, gateway["cpu_percent"].high) == (6, 3, 9)
    assert (middle(gateway, "rss_peak_mb"), middle(gateway, "voluntary_switches_per_message")) == (5, 1)


def test_what_a_source_spun_is_told_beside_its_cpu_and_not_in_it() -> None:
    (source,) = processes(measured_row([node("source", pacing_ms=30, user_us=40_000, system_us=10_000)]))
    assert [middle(source, f"{name}_percent") for name in ("cpu", "user", "system", "spun")] == [2, 4, 1, 3]


def test_a_trial_that_is_not_good_counts_nowhere() -> None:
    assert processes(measured_row([node("source")], good=False)) == ()


def test_many_of_a_role_are_told_together_and_each_by_itself() -> None:
    relays = [node("relay", user_us=10_000 * number) for number in range(1, 21)]
    found = of_group(measured_row([node("source"), *relays, node("sink")]))
    assert [each.name for each in found.by_role] == ["source", "20 relays, each", "sink"]
    assert found.by_role[1]["cpu_percent"] is not None
    assert between(found.by_role[1]["cpu_percent"]) == "1.0 to 20"
    assert [each.name for each in found.processes][1:3] == ["relay 1", "relay 2"]
    assert found.summary.startswith("22 processes, 210")


def test_a_few_of_a_role_are_told_each() -> None:
    found = of_group(measured_row([node("source"), node("relay"), node("relay"), node("sink")]))
    assert found.by_role == list(merge_roles(found.processes)) == list(found.processes)


@pytest.mark.parametrize(("mapped", "told"), [([], True), ([["/memfd:ring", 5_000_000]], False)])
def test_shared_memory_that_nobody_has_mapped_is_told(mapped: list[Any], told: bool) -> None:
    row = measured_row([node("source", shared_mappings=mapped), node("sink", shared_mappings=mapped)])
    row.values["carried_by"] = "shared memory (memfd)"
    cautions = [each for each in warnings([row.run]) if each.code == "W-OTHER-PATH"]
    assert bool(cautions) == told
    way = "shared memory (memfd)" + (
        "" if told else "; a process maps up to 5\N{NARROW NO-BREAK SPACE}MB of shared memory"
    )
    assert environment.paths([row.run]) == [("shm (Rust)", way)]


def test_a_study_of_the_same_conditions_stands_beside_it() -> None:
    study = {"payload": "image:1440x1080", "rate_hz": 30.0, "wait": "callback", "language": "c++"}
    row = measured_row([node("source"), node("sink")], **study)
    row.values["transport"] = "ros2"
    (section,) = sections(groups([row.run])[0])
    cpu = [line.values[1] for line in on_page(section.tables[0]).lines]
    assert [value.notes for value in cpu] == [
        (f'<span class="study">study: {percent}\N{NARROW NO-BREAK SPACE}% on GitHub-hosted runner</span>',)
        for percent in ("4.76", "3.45")
    ]


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    return fixture.build(tmp_path / "run", (fixture.Made("shm", relays=8),), trials=3, messages=50)


def test_the_page_has_a_row_for_every_process(shown: Path) -> None:
    page = write([shown], shown.parent / "page.html").read_text()
    assert "What each process used" in page
    assert "8 relays, each" in page
    assert all(f">relay {number} <" in page for number in range(1, 9))


def test_show_prints_a_line_and_an_object_for_every_process(shown: Path) -> None:
    register_all()
    names = ["source", *[f"relay {number}" for number in range(1, 9)], "sink"]
    spoken = CliRunner().invoke(app, ["show", str(shown), "--processes"])
    assert spoken.exit_code == 0, spoken.output
    assert all(name in spoken.output for name in names)
    told = CliRunner().invoke(app, ["show", str(shown), "--processes", "--json"]).output
    assert [json.loads(line)["process"] for line in told.splitlines()] == names
