"""Tests for the report's sentences about the clocks of several hosts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hopmeter.clocks.clock_state import ClockState
from hopmeter.report.answer import caution
from hopmeter.report.answers.clock_sentences import claim_sentences, comparison_sentences
from hopmeter.report.words import formatting
from hopmeter.store.clock_file import add_clocks
from tests.clocks.simulated import HERE, SECOND, Network, Plain, clock
from tests.report.rows import cell, print_table, run_of

BETWEEN = {"clock_uncertainty_us": 18.4, "clock_residual_us": 0.6}


def test_latencies_on_one_clock_need_no_sentence() -> None:
    run = run_of(cell("shm", 10, 9, 11))
    assert claim_sentences([run]) == comparison_sentences(run) == []


def test_latencies_between_hosts_say_what_is_certain() -> None:
    run = run_of(cell("zeromq", 210, 190, 230, **BETWEEN), cell("nng", 310, 290, 330, **BETWEEN))
    (said,) = claim_sentences([run])
    assert f"up to ±{formatting.microseconds(18.4)}" in said
    assert f"significant only above {formatting.microseconds(1.2)}" in said
    assert said in caution([run])
    assert said in print_table(run, width=1000)


def test_a_median_below_the_uncertainty_is_counted() -> None:
    coarse = cell("zeromq", 10, -8, 28, warning_codes=["W-CLOCK-COARSE"], **BETWEEN)
    _, said = claim_sentences([run_of(coarse, cell("nng", 310, 290, 330, **BETWEEN))])
    assert said.startswith("1 of 2 medians between hosts is below")


def test_the_clocks_of_each_pair_are_described_and_a_loop_is_shown(tmp_path: Path) -> None:
    clocks = {"alpha": HERE, "beta": clock(5 * SECOND, fast_ppm=12), "gamma": clock(-7)}
    for one, other in (("alpha", "beta"), ("beta", "gamma"), ("alpha", "gamma")):
        for batch in Plain(1, clocks[one], clocks[other], (one, other)).batches(6):
            add_clocks(tmp_path, batch)
    for raw_ns in (0, SECOND):
        values = {"monotonic_ns": raw_ns + raw_ns // 50_000, "raw_ns": raw_ns, "bracket_ns": 5, "kernel": None}
        add_clocks(tmp_path, ClockState.model_validate(values | {"session": "s", "host": "beta", "clock": "c"}))
    run = replace(run_of(cell("shm", 10, 9, 11)), folder=tmp_path)
    said = comparison_sentences(run)
    assert said[0].startswith("Clock offset between alpha and beta: known to ±2")
    assert said[0].endswith("drift 12.0 ppm.")
    assert said[3].startswith("The clock offsets around the triangle alpha, beta and gamma add up to")
    assert said[4] == "A time service changed the rate of beta's clock by 20.0 ppm."


def test_hosts_that_were_compared_once_have_no_drift(tmp_path: Path) -> None:
    add_clocks(tmp_path, Network(1, HERE, HERE).batch(0))
    (said,) = comparison_sentences(replace(run_of(cell("shm", 10, 9, 11)), folder=tmp_path))
    assert "drift" not in said
