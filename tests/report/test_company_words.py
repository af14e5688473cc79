"""Tests for the sentences about flows that slow each other down, and about the achieved background load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow, Participant, Workload
from hopmeter.report.sections.group_section import section
from hopmeter.report.words.company_words import alone_text, background_sentence, company_sentences
from tests import cells
from tests.report.rows import MEASURED

FLOWS = (
    Flow(0, "timing", 0, "frames", "a", ("b",), rate_hz=30.0),
    Flow(1, "timing", 0, "commands", "b", ("a",), rate_hz=30.0, latest="frames", deadline_s=0.01),
    Flow(2, "timing", 0, "ask", "a", ("b",), pattern="rpc", rate_hz=1.0, deadline_s=0.01),
)
WORKLOAD = Workload((Participant("a", "rust", "block"), Participant("b", "rust", "block")), FLOWS)


def group(*values: dict[str, Any], flow: str = "commands", **changes: Any) -> Group:
    run = Run(Path("results/made-up"), {}, [])
    pattern = WORKLOAD.flow(flow).pattern
    cell = cells.cell(workload=WORKLOAD, flow=flow, pattern=pattern, **changes)
    run.rows = [_row(run, cell.with_values(id=f"c{at}", transport=f"t{at}"), each) for at, each in enumerate(values)]
    return groups([run])[0]


def _row(run: Run, cell: Cell, values: dict[str, Any]) -> Row:
    return Row(run, cell, {"cell": cell.id, **MEASURED, "response_p50_us": 50.0, **values})


def ratio(value: float, low: float | None, high: float | None, name: str = "times_alone") -> dict[str, Any]:
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def test_the_cost_of_company_is_a_sentence_with_the_flows_that_cause_it() -> None:
    assert company_sentences(group(ratio(1.8, 1.52, 2.23))) == [
        "Messages of commands take 1.8 (1.5–2.2) times as long alongside the other flows as alone "
        "(with only frames, the flow that causes them)."
    ]
    assert company_sentences(group(ratio(1.8, 1.52, 2.23), flow="ask")) == [
        "Calls of ask take 1.8 (1.5–2.2) times as long alongside the other flows as alone."
    ]


def test_each_transport_has_its_ratio_and_p99_where_it_is_resolved() -> None:
    tail = ratio(4.21, 3.0, 6.0, "times_alone_p99")
    (said,) = company_sentences(group(ratio(1.8, 1.5, 2.2) | tail, ratio(1.0, None, None), {}, flow="ask"))
    assert said == (
        "Over t0, calls of ask take 1.8 (1.5–2.2) times (p99: 4.2 (3.0–6.0) times) as long alongside the other flows "
        "as alone; over t1 1.0 (?) times."
    )


def test_a_flow_that_was_not_alone_has_no_ratio() -> None:
    found = group({})
    assert company_sentences(found) == [] and alone_text(found.rows[0]) == ""
    assert "Times alone" not in [column.title for column in section(found, []).tables[0].columns]


def test_the_table_has_a_column_with_the_ratio() -> None:
    table = section(group(ratio(1.8, 1.5, 2.2), {}), []).tables[0]
    place = [column.title for column in table.columns].index("Times alone")
    values = [line.values[place] for body in table.bodies for line in body.lines]
    assert [value.sort for value in values] == [1.8, None]
    assert all(len(line.values) == len(table.columns) for body in table.bodies for line in body.lines)


def test_the_background_load_is_named_with_what_it_achieved() -> None:
    asked = "cpu 50%, memory 2GB/s"
    found = group(
        {"background": asked, "background_cpu_percent": 49.0, "background_memory_gb_s": 1.9},
        {"background": asked, "background_cpu_percent": 49.9, "background_memory_gb_s": 1.9},
        background=asked,
    )
    assert background_sentence(found.rows) == (
        "Background load: achieved 49.0 to 49.9 % of each core and 1.90 GB/s copied; requested cpu 50%, memory 2GB/s."
    )
    assert background_sentence(found.rows) in section(found, []).tables[0].caption
    assert f"background load of {asked}" in section(found, []).chips
    assert background_sentence(group({}).rows) == ""
