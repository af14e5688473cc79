"""The table of repeated searches: one row for each search, the highest rate first, with what limited it."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.advice.lines import RunAdvice
from hopmeter.report.answer import answer
from hopmeter.report.run_page import page
from hopmeter.report.tables.run_tables import run_tables
from hopmeter.report.tables.text_files import FORMATS
from tests.report.rows import cell, print_table, run_of

RATIOS = ("ratio_to_best", "ratio_to_best_low", "ratio_to_best_high")


def search_row(
    place: int, transport: str, rate_hz: float | None, ranks: tuple[int, int] | None, **more: Any
) -> dict[str, Any]:
    """Return the first row of a search, whose id is `c` and its place among the rows of the run."""
    found: dict[str, Any] = {"throughput_hz": rate_hz, "throughput_mb_s": rate_hz and rate_hz * 64 / 1e6}
    found |= dict(zip(("rank_low", "rank_high"), ranks or (None, None), strict=True))
    found |= {"search": f"c{place}", "search_round": 0, "pace": "max", "rate_hz": None, "payload_bytes": 64}
    return cell(transport, 20.0, **{"installable": True, "ranked": True, **found, **more})


def step(of: int, transport: str, rate_hz: float, failed: str | None) -> dict[str, Any]:
    status = "saturated" if failed else "ok"
    return cell(transport, 20.0, rate_hz=rate_hz, search=f"c{of}", search_round=1, search_failed=failed, status=status)


def throughput_run(**more: Any) -> Run:
    return run_of(
        search_row(
            0, "nng", 100_000.0, (2, 2), throughput_limit="loss", **dict(zip(RATIOS, (3.0, 2.5, 3.6), strict=True))
        ),
        search_row(1, "zeromq", 300_000.0, (1, 1), acknowledged_by="broker", flood_hz=500_000.0, flood_lost_share=0.25),
        search_row(2, "zenoh", None, None, status="failed", reason="no round found a rate [W-SEARCH-OPEN]"),
        step(0, "nng", 110_000.0, "5 of 100 messages were lost [W-SEARCH-LOSS]"),
        step(1, "zeromq", 330_000.0, "queued [W-OVERLOAD-QUEUE]"),
        **more,
    )


def test_each_search_has_one_row_and_the_highest_rate_is_first() -> None:
    (table,) = run_tables(throughput_run())
    lines = [
        {column.name: value for column, value in zip(table.columns, line.values, strict=True)} for line in table.lines
    ]
    assert [line["transport"].sort for line in lines] == ["zeromq", "nng", "zenoh"]
    assert lines[0]["flood_hz"].sort == 500_000 and lines[0]["acknowledged_by"].text == "broker"
    assert lines[1]["ratio_to_best"].ends == (2.5, 3.6) and lines[1]["throughput_limit"].sort == "loss"
    assert "W-SEARCH-OPEN" in table.line_end(table.lines[2])


def test_the_steps_of_a_search_have_no_tables_and_are_not_reported_as_overload() -> None:
    run = throughput_run()
    assert groups([run]) == []
    said = " ".join(answer([run], []))
    assert "zeromq with 300,000 messages/s" in said and "could not keep up" not in said
    assert [section.id for section in page([run]).sections if section.id.startswith("throughput")]


@pytest.mark.parametrize("name", ["markdown", "csv", "json"])
def test_every_format_shows_the_rates(name: str) -> None:
    assert "300000" in FORMATS[name](run_tables(throughput_run())).replace(",", "").replace(".0", "")


def test_the_terminal_shows_the_rates() -> None:
    printed = print_table(throughput_run(question="How many?"))
    assert "300,000" in printed and "lost messages" in printed


def test_equal_rates_have_no_winner() -> None:
    run = run_of(search_row(0, "nng", 9e4, (1, 2)), search_row(1, "zeromq", 1e5, (1, 2)))
    (said,) = run_tables(run)[0].sentences
    assert "do not differ significantly" in said and "nng" in said and "zeromq" in said


def test_advice_names_the_command_that_measures_what_could_not_keep_up() -> None:
    late = {"status": "saturated", "response_p50_us": None}
    rows = [cell(name, 10, 9, 11, rate_hz=9e4, payload="bytes:200", **late) for name in ("nng", "zeromq")]
    command = "hopmeter run throughput --payload bytes:200 --transport nng,zeromq"
    for fast in ([], [cell("zenoh", 10, 9, 11, rate_hz=9e4, payload="bytes:200")]):
        found = RunAdvice(run_of(*rows, *fast, scenario={}, scenario_name="mine"), None)
        assert command in found.lines["changes"]
        assert (found.take is not None) is bool(fast)
