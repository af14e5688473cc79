"""Tests for the report's sentence about latency growth within a trial."""

from __future__ import annotations

from typing import Any

from hopmeter.report.answers.growth_sentences import growth_sentence
from hopmeter.report.words.formatting import THIN
from tests.report.rows import cell, run_of


def row(name: str, *growth: float) -> dict[str, Any]:
    return cell(name, 10, **dict(zip(("growth", "growth_low", "growth_high"), growth, strict=False)))


def sentence(*rows: dict[str, Any]) -> str:
    return growth_sentence(run_of(*rows)).replace(THIN, " ")


def test_rows_that_grew_are_named_first_and_the_others_have_a_bound() -> None:
    found = sentence(row("nng", 1.0, 0.98, 1.03), row("zeromq", 1.12, 1.08, 1.15), row("zenoh", 0.8, 0.75, 0.9))
    assert found == (
        "Over the course of a trial, p50 of zeromq (Rust) grew by 12 % (8.0–15 %) and p50 of zenoh (Rust) fell by 20 % "
        "(10–25 %); there is no trend in 1 other row: p50 changed by less than 3.0 %."
    )


def test_without_a_trend_there_is_only_the_bound() -> None:
    found = sentence(row("nng", 1.0, 0.98, 1.01), row("zeromq", 1.0, 0.96, 1.02))
    assert found == "Over the course of a trial, there is no trend: p50 changed by less than 4.0 %."


def test_short_trials_say_nothing() -> None:
    assert sentence(row("nng"), row("zeromq")) == ""


def test_rows_that_vary_too_much_are_counted_with_a_bound_that_helps() -> None:
    found = sentence(row("nng", 1.0, 0.98, 1.01), row("zeromq", 1.1, 0.2, 6.0))
    assert "p50 changed by less than 2.0 %; p50 of 1 row varied too much to show a trend" in found
    assert found.endswith("at the end of a trial, p50 was 0.20 to 6.0 times its value at the beginning.")
    assert sentence(row("zeromq", 1.1, 0.02, 6.0)).endswith("p50 of 1 row varied too much to show a trend.")
