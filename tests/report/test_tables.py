"""All renderers show the same table content."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.model.row_role import Role
from hopmeter.report import report_file
from hopmeter.report.sections.section import Page, Section
from hopmeter.report.tables.model import Column, Line, Table, Value, table
from hopmeter.report.tables.page import on_page
from hopmeter.report.tables.run_tables import group_table, run_tables
from hopmeter.report.tables.terminal import print_table
from hopmeter.report.tables.text_files import FORMATS
from hopmeter.system.terminal import Console
from tests.report.rows import cell, run_of

COLUMNS = [
    Column("Transport", "name", heads=True, short="transport", key="transport"),
    Column("p50, µs", "number", "95 % interval", short="p50 µs (95 %)", key="p50_us"),
    Column("CPU", "number", short="CPU %", key="cpu", place="below", least=2),
    Column("p99.9, µs", "number", key="p999_us", least=1, optional=True),
    Column("Status", "status", key="status"),
]
LINES = [
    Line(
        [
            Value("tcp (Rust)", sort="tcp (Rust)", short="tcp"),
            Value("9.41", ("9.1 to 9.8",), 9.4123, inline="(9.1–9.8)", ends=(9.1, 9.8)),
            Value("4.10", sort=4.1, below="4.1 %"),
            Value("–"),
            Value("ok", sort="ok"),
        ],
        "ok reference",
        ("a|b",),
    ),
    Line(
        [Value("nng", sort="nng"), Value("–"), Value("–"), Value("–"), Value("failed", sort="failed")],
        "failed",
        ("no reply",),
    ),
]
MODEL = replace(table("a title", COLUMNS, LINES, "<em>what</em> it shows", "ranking"), sentences=["tcp is alone."])


def terminal_text(shown: Table, **options: Any) -> str:
    console = Console(**options)
    with console.capture() as said:
        print_table(console, shown)
    return said.get()


def page_text(shown: Table) -> str:
    return report_file.render(Page("t", "q", [], [], [Section("s", tables=[shown])]))


def test_every_renderer_has_the_values_the_interval_and_the_remarks() -> None:
    markdown = FORMATS["markdown"]([MODEL])
    texts = {"terminal": terminal_text(MODEL, width=200), "page": page_text(MODEL), "markdown": markdown}
    for name, text in texts.items():
        assert all(word in text for word in ("9.41", "4.1", "no reply", "failed")), name
    assert "9.41 (9.1–9.8)" in texts["terminal"] and "9.41 (9.1–9.8)" in markdown
    assert "<small>9.1 to 9.8</small>" in texts["page"]


def test_markdown_has_what_the_table_says_and_escapes_cells() -> None:
    text = FORMATS["markdown"]([MODEL])
    assert text.startswith("### a title\n\ntcp is alone.\n\n| transport | p50 µs (95 %) | CPU % |")
    assert "| --- | ---: | ---: | --- |" in text
    assert r"| tcp | 9.41 (9.1–9.8) | 4.10 | a\|b |" in text and "| failed: no reply |" in text
    assert text.rstrip().endswith("what it shows")


def test_csv_and_json_have_the_values_behind_the_texts_with_the_ends_of_their_intervals() -> None:
    first, second = csv.DictReader(io.StringIO(FORMATS["csv"]([MODEL])))
    assert (first["table"], first["transport"], first["status"]) == ("a title", "tcp (Rust)", "ok")
    assert [float(first[f"p50_us{end}"]) for end in ("", "_low", "_high")] == [9.4123, 9.1, 9.8]
    assert second["p50_us"] == "" and second["remarks"] == "no reply"
    found = json.loads(FORMATS["json"]([MODEL]))
    assert found["sentences"] == ["tcp is alone."]
    assert found["rows"][0]["p50_us_high"] == 9.8 and found["rows"][1]["p50_us"] is None


def test_csv_of_several_tables_has_the_columns_of_all() -> None:
    other = table("other", [Column("Loss", "number")], [Line([Value("0", sort=0)])])
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"]([MODEL, other]))))
    assert [row["loss"] for row in rows] == ["", "", "0"] and rows[2]["transport"] == ""


def test_a_page_stacks_values_that_have_no_column_there() -> None:
    shown = on_page(MODEL)
    assert [column.title for column in shown.columns] == ["Transport", "p50, µs", "p99.9, µs", "Status"]
    name, median, *_ = shown.lines[0].values
    assert name.notes == ("a|b",) and median.notes == ("9.1 to 9.8", "4.1 %")


def test_a_column_without_any_value_is_left_out_of_lines_if_the_model_says_so() -> None:
    assert "p99.9" not in terminal_text(MODEL, width=200)
    lines = [replace(LINES[0], values=[*LINES[0].values[:3], Value("12.0", sort=12.0), LINES[0].values[4]])]
    assert "p99.9" in terminal_text(table("a title", COLUMNS, lines), width=200)


@pytest.mark.parametrize(("width", "has_cpu"), [(200, True), (44, False)])
def test_a_narrow_terminal_leaves_out_the_least_important_column_and_a_pipe_none(width: int, has_cpu: bool) -> None:
    assert ("CPU %" in terminal_text(MODEL, width=width, force_terminal=True, color_system=None)) is has_cpu
    assert "CPU %" in terminal_text(MODEL, width=width, force_terminal=False)


def roles() -> Run:
    return run_of(
        cell("zenoh", 9.0, 8.9, 9.1, floor="c1"),
        cell("shm", 1.0, 0.9, 1.1, installable=False),
        cell("unix", 2.0, 1.9, 2.1, installable=False),
        cell("slow", 20.0, 19.0, 21.0, ranked=False),
    )


def test_the_role_of_a_row_is_a_value_and_every_renderer_has_its_word() -> None:
    run = roles()
    assert [row.role for row in run.rows] == [Role.CHOICE, Role.FLOOR, Role.REFERENCE, Role.UNRANKED]
    (model,) = run_tables(run)
    remarks = {str(line.values[1].sort): line.remarks for line in model.lines}
    assert remarks == {"zenoh": (), "shm": ("floor",), "unix": ("reference",), "slow": ("not ranked",)}
    rows = {row["transport"]: row for row in json.loads(FORMATS["json"]([model]))["rows"]}
    assert rows["slow"]["remarks"] == "not ranked" and rows["zenoh"]["remarks"] == ""


def test_the_page_has_the_columns_that_the_scenario_names() -> None:
    run = run_of(cell("zenoh", 9.0, service_p50_us=6.66), columns=["service_p50_us", "encode_p50_us"])
    shown = on_page(group_table(groups([run])[0]))
    titles = [column.title for column in shown.columns]
    assert "service p50" in titles and "encode p50" not in titles, "no row has the second one"


def test_a_row_without_a_result_shows_a_queue_on_a_page_only() -> None:
    run = run_of(cell("zenoh", 9.0), cell("nng", 1_119_346.0, status="saturated", reason="too slow [E-X]"))
    model = group_table(groups([run])[0])
    assert "1,119,346" in page_text(model) and "1,119,346" not in terminal_text(model, width=200)
    assert "saturated: too slow [E-X]" in terminal_text(model, width=200)
