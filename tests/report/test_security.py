"""Tests for the table of the cost of security, in which each encrypted row follows its unencrypted row."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.answer import answer
from hopmeter.report.run_page import page
from hopmeter.report.tables.run_tables import run_tables
from hopmeter.report.tables.security import security_sentences, security_tables
from tests.report.rows import cell, run_of

FLOOR = cell("shm", 5.0, installable=False)
NAMES = ("times_unsecured", "cpu_times_unsecured")


def encrypted_row(transport: str, unsecured: str, *ratio: float | None) -> dict[str, Any]:
    ratios = {f"{name}{end}": value for name in NAMES for end, value in zip(("", "_low", "_high"), ratio, strict=True)}
    more = {"security": "tls", "security_covers": "encrypts everything", "unsecured": unsecured}
    return cell(transport, 40.0, profile="security=tls", **more, **ratios)


def run(*ratio: float | None) -> Run:
    dear, cheap = encrypted_row("nng", "c0", *ratio), encrypted_row("zeromq", "c1", 1.01, 0.9, 1.1)
    return run_of(cell("nng", 20.0), cell("zeromq", 21.0), dear, cheap)


def columns(found: Run, name: str) -> list[Any]:
    (table,) = security_tables([found])
    at = [column.name for column in table.columns].index(name)
    return [line.values[at] for line in table.lines]


def test_rows_are_ranked_within_their_transport_and_the_cheapest_is_first() -> None:
    found = run(2.0, 1.5, 2.5)
    assert [value.text for value in columns(found, "rank")] == ["1–2", "1–2", "1", "2"]
    assert [value.sort for value in columns(found, "times_unsecured")] == [1.0, 1.01, 1.0, 2.0]
    assert columns(found, "cpu_times_unsecured")[3].ends == (1.5, 2.5)
    assert [value.text for value in columns(found, "security_covers")] == ["", "encrypts everything"] * 2


def test_the_answer_and_the_page_say_what_security_costs() -> None:
    found = run(2.0, 1.5, 2.5)
    assert security_sentences([found])[0] in answer([found], groups([found]))
    assert (
        sum(
            bool(section.tables) and section.tables[0].label.startswith("What security costs")
            for section in page([found]).sections
        )
        == 1
    )


def test_rows_without_an_interval_have_no_rank() -> None:
    assert [value.text for value in columns(run(2.0, None, None), "rank")] == ["1–2", "1–2", "", ""]


@pytest.mark.parametrize("ratio", [(None, None, None), (0.5, 0.4, 0.6)])
def test_unknown_and_negative_costs_are_shown(ratio: tuple[float | None, ...]) -> None:
    ranks = [value.text for value in columns(run(*ratio), "rank")]
    assert sorted(ranks) == sorted(["1–2", "1–2", *(["2", "1"] if ratio[0] else ["", ""])])


def test_a_run_without_encryption_has_no_such_table() -> None:
    found = run_of(cell("nng", 20.0), cell("zeromq", 21.0))
    assert security_tables([found]) == [] and len(run_tables(found)) == 1


def test_a_ranking_follows_only_if_it_has_other_rows() -> None:
    found = run(2.0, 1.5, 2.5)
    assert [table.label.startswith("What security costs") for table in run_tables(found)] == [True]
    (group,) = groups([found])
    assert not [section for section in page([found]).sections if section.id == group.id and section.tables]
    assert len(run_tables(run_of(cell("nng", 20.0, floor="c2"), encrypted_row("nng", "c0", 2.0, 1.5, 2.5), FLOOR))) == 1
    more = run_of(cell("nng", 20.0), cell("zeromq", 21.0), encrypted_row("nng", "c0", 2.0, 1.5, 2.5))
    assert [table.label.startswith("What security costs") for table in run_tables(more)] == [True, False]
