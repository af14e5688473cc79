"""Tests for the folded list of reasons why a row's slowest messages were slow."""

from __future__ import annotations

from hopmeter.analysis.cost.slow_messages import PARTS
from hopmeter.analysis.results.groups import groups
from hopmeter.report.sections.why_slow import sections, sentence, summary
from tests.report.rows import cell, print_table, run_of

SHARES = dict.fromkeys((f"why_{each}" for each in (*PARTS, "unknown")), 0.0)
WHY = {
    **SHARES,
    "why_messages": 20,
    "why_over_us": 800.0,
    "why_mean_us": 1200.0,
    "why_p50_us": 12.0,
    "why_waking": 0.3,
    "why_core_wait": 0.699,
    "why_stolen": 0.001,
    "why_minor_faults": 12.0,
    "why_major_faults": 0.0,
    "why_usual_minor_faults": 0.5,
    "why_steal_percent": 2.0,
}


def test_the_terminal_names_the_command_that_shows_why() -> None:
    for more, shown in ({}, False), (WHY, True):
        said = print_table(run_of(cell("unix", 12.0), cell("tcp", 12.0, **more)))
        assert ("`hopmeter show results/made-up c1`" in said) is shown
        assert ("waiting for a core" in said) is shown


def test_a_summary_has_the_rows_with_the_slowest_messages() -> None:
    cells = [cell(f"bus{number}", 10, **WHY | {"why_mean_us": 100.0 * number}) for number in range(1, 7)]
    *lines, rest = summary(groups([run_of(*cells)]))
    assert [line.split()[0] for line in lines] == ["bus6", "bus5", "bus4", "bus3"]
    assert "70\u202f%" in lines[0] and "600\u202fµs" in lines[0]
    assert rest == "2 other rows"


def test_the_largest_part_comes_first_and_a_tiny_one_is_left_out() -> None:
    (row,) = run_of(cell("shm", 10, **WHY)).rows
    said = sentence(row)
    assert said.index("waiting for a core") < said.index("waking")
    assert "stolen by the hypervisor" not in said and "running" not in said
    for value in (
        "20 messages",
        "70\u202f%",
        "30\u202f%",
        "page faults per message 12.0",
        "2.0\u202f%",
        "12.0\u202fµs",
        "10.0\u202fµs",
    ):
        assert value in said


def test_each_row_has_a_line_that_is_folded_at_first() -> None:
    (group,) = groups([run_of(cell("shm", 10, **WHY), cell("unix", 20, why_note="not possible [W-WHY-NO-CHAIN]"))])
    (section,) = sections(group)
    assert section.fold == "closed"
    assert [name for name, _ in section.terms] == ["shm", "unix"]
    assert section.terms[1][1] == "not possible [W-WHY-NO-CHAIN]"


def test_a_run_that_did_not_ask_has_no_section() -> None:
    assert not sections(groups([run_of(cell("shm", 10))])[0])
