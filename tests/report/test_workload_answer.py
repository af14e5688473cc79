"""Tests for the answer about a workload, and for its table in the report and in the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.cli.output import run_table
from hopmeter.report.answer import answer
from hopmeter.report.answers.next_command import next_sentence
from hopmeter.report.answers.workload_answer import answer_sentences
from hopmeter.report.sections.group_section import section
from hopmeter.report.tables.page import on_page
from hopmeter.report.tables.workload import COLUMNS
from hopmeter.report.words.workload_words import is_whole, share_percent
from hopmeter.system.terminal import Console
from tests.analysis.test_workload_ranking import CALM, CPU, NONE, scale
from tests.workload_runs import WORKLOAD, Made, make_run

LATE = [200, 210, 190, 205, 195, 202]


def whole(run: Run) -> Group:
    return next(group for group in groups([run]) if is_whole(group))


def lead(made: dict[str, Made]) -> str:
    return plain(answer_sentences(whole(make_run(made)))[0])


def plain(text: str) -> str:
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


@pytest.fixture
def clear() -> Run:
    return make_run({"nng": Made(LATE, CALM, CPU), "zeromq": Made(NONE, CALM, CPU)})


def test_the_first_sentence_names_the_transport_that_misses_the_fewest_deadlines(clear: Run) -> None:
    said = plain(answer_sentences(whole(clear))[0])
    assert said.startswith("zeromq misses the fewest deadlines: 0 %")
    assert "nng 10.0 % (9.0–11.0)" in said


def test_it_is_the_first_sentence_of_the_report_and_of_the_terminal(clear: Run) -> None:
    first = answer_sentences(whole(clear))[0]
    assert answer([clear], groups([clear]))[0] == first
    console = Console(file=io.StringIO(), width=200)
    run_table.print_run(console, clear)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert first in printed
    assert printed.index(first) < printed.index("flow frames")


def test_a_later_criterion_is_named_and_so_is_what_is_alike() -> None:
    slower = CALM | {"commands": scale(CALM["commands"], 2)}
    made = {"slow": Made(NONE, slower, CPU), "fast": Made(NONE, CALM, CPU), "late": Made(LATE, CALM, CPU)}
    said = lead(made)
    assert said.startswith("fast misses fewer deadlines: 0 %")
    assert "late 10.0 %" in said.partition(";")[0]
    assert "fast has the best p99 in its worst flow" in said and "commands" in said


def test_an_answer_by_cpu_says_first_that_deadlines_and_p99_do_not_differ() -> None:
    frugal = {"nng": Made(NONE, CALM, scale(CPU, 2)), "zeromq": Made(NONE, CALM, CPU)}
    said = lead(frugal)
    assert said.startswith(
        "zeromq and nng do not differ significantly in missed deadlines or worst p99: each misses 0 %"
    )
    assert said.partition("; ")[2].startswith("zeromq uses the least CPU: 20.0 % of a core")
    said = lead(frugal | {"mqtt": Made(NONE, CALM, scale(CPU, 3)), "late": Made(LATE, CALM, CPU)})
    assert said.partition("; ")[2].startswith(
        "zeromq does not differ significantly from nng and mqtt in worst p99; zeromq uses the least CPU"
    )


def test_an_answer_names_the_criteria_that_a_workload_does_not_have() -> None:
    flows = tuple(replace(flow, deadline_s=None) for flow in WORKLOAD.flows)
    made = {"nng": Made(NONE, CALM, scale(CPU, 2)), "zeromq": Made(NONE, CALM, CPU)}
    by_cpu, left_out = answer_sentences(whole(make_run(made, replace(WORKLOAD, flows=flows))))
    assert by_cpu.startswith("zeromq and nng do not differ significantly in worst p99; zeromq uses the least CPU")
    assert left_out == "No flow or path has a deadline."
    few = {name: replace(each, p99_us={}) for name, each in made.items()}
    assert answer_sentences(whole(make_run(few)))[1:] == ["No flow has enough messages for a p99."]


def test_the_next_command_names_the_flow_that_it_decides() -> None:
    made = {"nng": Made(LATE, CALM, CPU), "zeromq": Made(NONE, CALM, CPU)}
    run = make_run(made, scenario={"require": ["p99 < 5ms"]})
    for row in run.rows:
        row.values.update(require="undecided" if row["flow"] == "commands" else "meets", require_rounds=9)
    assert next_sentence(run).startswith(
        "To decide whether nng (Rust) for commands and zeromq (Rust) for commands meet p99 < 5ms"
    )


def test_what_is_not_told_apart_is_said_and_the_command_that_decides_it() -> None:
    noisy = [0, 90, 0, 60, 10, 80]
    run = make_run({"one": Made(NONE, CALM, CPU), "other": Made(noisy, CALM, CPU)})
    said = plain(answer_sentences(whole(run))[0])
    assert said.startswith(
        "one and other do not differ significantly in missed deadlines, worst p99 or CPU: they miss 0 %"
    )
    assert next_sentence(run).startswith("To decide between one and other, run `hopmeter run made-up --trials ")


def test_rows_without_a_rank_carried_the_workload_all_the_same() -> None:
    run = make_run({"synthetic": Made(LATE, CALM, CPU), "shm": Made(NONE, CALM, CPU, status="failed")})
    for row in run.rows:
        row.values["rank_low"] = None
    first, why, failed = map(plain, answer_sentences(whole(run)))
    assert first == "synthetic: it misses 10.0 % (9.0–11.0) of the deadlines and uses 20.0 % of a core (?)."
    assert why.endswith("they have no rank.") and failed == "shm failed."


def test_failed_transports_and_slow_readers_are_named() -> None:
    made = {
        "broken": Made(NONE, CALM, CPU, status="failed"),
        "behind": Made(LATE, CALM, CPU, backlog_ms_per_s=320.0),
        "good": Made(NONE, CALM, CPU),
    }
    said = " ".join(map(plain, answer_sentences(whole(make_run(made)))))
    assert "The reader of frames falls behind over behind (by 320 ms/s)." in said
    assert "broken failed." in said


def test_the_whole_has_no_latency_columns_and_missed_deadlines_are_red(clear: Run) -> None:
    found = section(whole(clear), [])
    titles = [column.title for column in found.tables[0].columns]
    assert titles == [column.title for column in COLUMNS] and not any("p50" in title for title in titles)
    first, second = on_page(found.tables[0]).bodies[0].lines
    assert [value.style for value in first.values].count("missed") == 0
    assert plain(second.values[2].text) == "10.0 %" and second.values[2].style == "missed"
    assert second.values[6].text == "deadlines"


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100 %"), (0.984, "98.4 %"), (0.99978, "99.978 %"), (0.5, "50.0 %"), (0.00022, "0.022 %"), (0.0, "0 %")],
)
def test_shares_near_none_or_all_keep_the_digits_that_matter(share: float, text: str) -> None:
    assert plain(share_percent(share)) == text
