"""Tests for the command that a run suggests at its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.results.run_results import Run
from hopmeter.model import units
from hopmeter.report.answers.next_command import next_sentence
from tests.report.rows import cell, in_rounds, run_of

COMMAND = ["hopmeter", "run", "quick", "--require", "p99 < 1ms", "--messages", "125", "--budget", "60s"]


def row_with_interval(name: str, us: float, **more: Any) -> dict[str, Any]:
    return cell(name, us, us * 0.9, us * 1.1, **more)


def test_references_that_do_not_differ_need_no_command() -> None:
    near = [row_with_interval("unix", 10.0, installable=False), row_with_interval("tcp", 10.2, installable=False)]
    assert next_sentence(in_rounds(*near)) == ""
    assert next_sentence(in_rounds(*near, row_with_interval("zenoh", 90.0))) == ""
    assert "--trials" in next_sentence(in_rounds(row_with_interval("unix", 10.0), row_with_interval("tcp", 10.2)))


def test_a_command_has_no_fewer_trials_than_the_run() -> None:
    far = [row_with_interval("zenoh", 10.0), row_with_interval("nng", 90.0)]
    assert "--trials 12" in next_sentence(in_rounds(*far, rounds=8, quick=True))
    assert next_sentence(in_rounds(*far, rounds=25, quick=True)) == ""
    noisy = next_sentence(
        in_rounds(row_with_interval("zenoh", 10.0), row_with_interval("nng", 12.0), rounds=25, noise=0.6)
    )
    assert noisy == "" or int(noisy.partition("--trials ")[2].partition("`")[0]) > 25


def test_a_run_with_a_budget_gets_the_budget_that_separates_the_nearest_pair() -> None:
    cells = [row_with_interval(name, us) for name, us in (("zenoh", 10.0), ("nng", 11.0), ("zeromq", 90.0))]
    run = in_rounds(*cells, rounds=9, noise=0.2, command=COMMAND, scenario={"budget": "60s"})
    said = next_sentence(run)
    assert said.startswith("To decide between zenoh and nng, run `")
    assert "--trials" not in said and said.count("--budget") == 1
    budget = said.partition("--budget ")[2].partition("`")[0]
    assert units.seconds(budget) > 60
    assert "p99 < 1ms" in said and "60s" not in said


def test_a_pair_of_several_payloads_names_its_payload() -> None:
    small = [row_with_interval("zenoh", 10.0), row_with_interval("nng", 90.0)]
    large = [row_with_interval(name, us, payload="image:8x8") for name, us in (("zenoh", 100.0), ("nng", 110.0))]
    said = next_sentence(in_rounds(*small, *large, rounds=9, noise=0.2))
    assert said.startswith("To decide between zenoh and nng for an image of 8×8, run `")


def test_a_run_on_the_cost_of_encryption_separates_only_a_row_from_its_unencrypted_row() -> None:
    plain = [row_with_interval("nng", 10.0), row_with_interval("zeromq", 10.2)]
    dear = row_with_interval("nng", 90.0, unsecured="c0", security="tls", profile="security=tls")
    assert next_sentence(in_rounds(*plain, dear, {**dear, "transport": "zeromq", "unsecured": "c1"})) == ""
    near = row_with_interval("zeromq", 10.3, unsecured="c1", security="tls", profile="security=tls")
    said = next_sentence(in_rounds(*plain, dear, near))
    assert said.startswith("To decide between zeromq defaults and zeromq security=tls, run `")


def test_a_saturated_row_needs_no_command() -> None:
    full = row_with_interval("nng", 10.2, status="saturated")
    assert next_sentence(in_rounds(row_with_interval("zenoh", 10.0), full, noise=0.2)) == ""


@pytest.mark.parametrize(("width", "said"), [(0.03, ""), (0.1, "--budget 4m`"), (0.9, "would take about 5.4 h")])
def test_a_requested_precision_gets_the_budget_that_reaches_it(width: float, said: str) -> None:
    rows = [cell(name, 10.0, 10.0 * (1 - width), 10.0 * (1 + width)) for name in ("zenoh", "nng")]
    run = run_of(*rows, command=COMMAND, scenario={"budget": "60s", "until": "±5%"})
    assert said in next_sentence(run)
    assert bool(next_sentence(run)) == bool(said)


def undecided_run(*rounds: int | None, **about: Any) -> Run:
    """Return a run of 20 rounds with a requirement. Each row needs the given number of rounds for a decision, and a
    trial takes 2 s."""
    made = [
        row_with_interval(name, us, require="undecided", require_rounds=many)
        for name, us, many in zip(("zenoh", "nng", "mqtt"), (10.0, 10.1, 10.2), rounds, strict=False)
    ]
    scenario = {"require": ["p99 < 1ms"], "budget": "60s"}
    return in_rounds(*made, rounds=20, **{"command": COMMAND, "scenario": scenario, **about})


def test_an_undecided_requirement_gets_the_time_that_it_needs() -> None:
    said = next_sentence(undecided_run(26, 35))  # 80 s until now, and 15 more rounds with two trials of 2 s
    assert said == (
        "To decide whether zenoh (Rust) and nng (Rust) meet p99 < 1ms, "
        "run `hopmeter run quick --require 'p99 < 1ms' --messages 125 --budget 3m`."
    )


def test_rows_of_several_payloads_name_theirs() -> None:
    run = undecided_run(26)
    other = row_with_interval("nng", 90.0, payload="image:8x8", require="meets")
    run.rows += in_rounds(other).rows
    assert next_sentence(run).startswith("To decide whether zenoh (Rust) for a small message meets p99 < 1ms, run ")


def test_a_row_that_needs_hours_is_left_out_of_the_suggestion() -> None:
    said = next_sentence(undecided_run(26, 9000, None))
    assert said.startswith("To decide whether zenoh (Rust) meets p99 < 1ms, run ") and said.endswith(
        "; 2 other rows need more rounds."
    )
    assert "--trials 9000" in next_sentence(undecided_run(9000, scenario={"require": ["p99 < 1ms"]}))


def test_a_decided_or_hopeless_requirement_suggests_nothing() -> None:
    assert next_sentence(undecided_run(None, None)) == ""
    decided = undecided_run(26)
    decided.rows[0].values["require"] = "meets"
    assert next_sentence(decided) == ""


def test_an_unfinished_run_is_resumed() -> None:
    run = in_rounds(
        row_with_interval("zenoh", 10.0),
        row_with_interval("nng", 10.1),
    )
    stopped = replace(run, folder=Path("results/.mine.partial"))
    assert "`hopmeter run --resume results/.mine.partial`" in next_sentence(stopped)
    assert "--budget" not in next_sentence(stopped)
