"""A comparison is rendered as a sentence, as files for other tools, and as a section of the report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hopmeter.analysis.results.run_results import read
from hopmeter.comparison import gate
from hopmeter.comparison.change import Change
from hopmeter.comparison.interleaved import compare_sides
from hopmeter.report import write
from hopmeter.report.comparisons import exports, words
from hopmeter.report.words import formatting
from tests.comparison.runs import make_run, sides, transport

QUIET = [1.0, 1.01, 0.99, 1.02, 0.98, 1.01, 1.0, 0.99]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run with two sides of three cells: unix is 50 % slower, tcp is unchanged, and lcm lost too many
    trials."""
    unix, tcp, lcm = sides("unix"), sides("tcp"), sides("lcm", wait="spin")
    levels = [(unix[0], 20.0), (unix[1], 30.0), (tcp[0], 40.0), (tcp[1], 40.0), (transport("shm"), 10.0)]
    trials = [(one, [level * each for each in QUIET[at:] + QUIET[:at]]) for at, (one, level) in enumerate(levels)]
    trials += [(one, [9.0, 9.1]) for one in lcm]
    return make_run(tmp_path / "run", trials, against="set:hwm=1", scenario={"title": "t"}, seed=1)


@pytest.fixture
def changes(run: Path) -> list[Change]:
    return compare_sides(read(run))


@pytest.fixture
def failures(changes: list[Change]) -> list[gate.Failure]:
    found = gate.parse(["slower:5%"])
    assert found is not None
    return gate.failures(found, {"p50": changes})


def test_the_sentence_names_what_changed_and_counts_the_rest(changes: list[Change]) -> None:
    said = words.sentence(changes)
    assert "1 is slower by more than 5 % (unix (rust)" in said
    assert "1 is the same within 5 %" in said
    assert "1 is undecided" in said


def test_what_is_the_same_or_undecided_has_a_tilde_for_its_change(changes: list[Change]) -> None:
    shown = {each.name: words.change(each) for each in changes}
    assert shown["tcp (rust)"] == shown["lcm (rust)"] == "~"
    assert shown["unix (rust)"].startswith("+5")


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (0.9, 1.25, "−10 % to +25 %"),
        (0.4, 2.5, "0.400× to 2.50×"),
        (1e-30, 5e200, "under 1/1,000× to over 1,000×"),
    ],
)
def test_an_interval_has_the_same_unit_at_both_ends(low: float, high: float, says: str, changes: list[Change]) -> None:
    assert words.interval(replace(changes[0], low=low, high=high)).replace(formatting.THIN, " ") == says


def test_a_summary_in_markdown_has_each_cell_and_what_failed(
    changes: list[Change], failures: list[gate.Failure]
) -> None:
    said = exports.markdown(changes, failures)
    assert "**The gate failed:**" in said
    rows = [line for line in said.splitlines() if line.startswith(("| unix", "| tcp", "| lcm"))]
    assert len(rows) == 3
    assert [row.count("|") for row in rows] == [7, 7, 6], "no cell like lcm has an interval, so its table has no column"


def test_junit_has_a_test_for_each_cell(changes: list[Change], failures: list[gate.Failure]) -> None:
    suite = ET.fromstring(exports.junit(changes, failures))
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "1")
    assert [case.attrib["name"] for case in suite if case.find("failure") is not None] == ["unix (rust)"]


def test_both_services_have_a_name_of_their_own_for_each_cell(changes: list[Change]) -> None:
    metrics = json.loads(exports.bencher(changes, []))
    rows = json.loads(exports.github_action_benchmark(changes, []))
    assert len(metrics) == 3
    assert [row["name"] for row in rows] == list(metrics)
    unix = next(value for name, value in metrics.items() if "unix" in name)
    assert unix["latency"]["value"] == pytest.approx(30_000, rel=0.02)
    assert unix["ratio"]["lower_value"] < unix["ratio"]["value"] == pytest.approx(1.5, rel=0.02)


def test_the_report_of_a_run_with_two_sides_has_a_section_on_them(run: Path, tmp_path: Path) -> None:
    page = write([run], tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("New against old: set:hwm=1") == 2, "in the answer and as a section"
    assert "slower by more than 5 %" in page
    assert page.count("Of 3 cells, 1 is slower") == 1, "in the answer"
    for words_of_an_order in ("is fastest", "had the lowest median", "Not decided"):
        assert words_of_an_order not in page


def test_a_report_is_written_although_the_table_of_trials_is_missing(run: Path, tmp_path: Path) -> None:
    (run / "trials.parquet").unlink()
    assert "New against old" not in write([run], tmp_path / "page.html").read_text(encoding="utf-8")
