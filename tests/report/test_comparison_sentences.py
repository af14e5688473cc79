"""Tests for a table's sentences about references, and about pairs that are decided without a minimum factor."""

from __future__ import annotations

from types import SimpleNamespace

from hopmeter.analysis.ranking.rounds import Comparison, TableRanking
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.answer import answer
from hopmeter.report.answers.comparison_sentences import lead
from hopmeter.report.words import formatting
from tests.report.rows import cell, run_of


def text_of(run: Run) -> str:
    return " ".join(answer([run], groups([run])))


def test_synthetic_beside_its_floor_has_medians_and_no_order() -> None:
    run = run_of(cell("synthetic", 60, ranked=False), cell("memory", 3, ranked=False, installable=False))
    for said in (text_of(run), lead(groups([run])[0])):
        assert "the medians are memory 3.00" in said and "synthetic 60.0" in said
        assert "latency to show" not in said and "fastest" not in said
    alone = run_of(cell("synthetic", 60, ranked=False))
    assert "the median of synthetic is 60.0" in text_of(alone)


def test_a_pair_that_an_earlier_look_decided_is_named_so() -> None:
    run = run_of(cell("nng", 10, 9, 11), cell("zenoh", 12, 11, 13))
    early = Comparison("c0", "c1", 1.2, 1.1, 1.3, decided=True, stopped_early=True)
    run.rankings = {run.rows[0].cell.group: Decided(early)}
    assert "takes 1.10 to 1.30 times as long (stopped early)" in text_of(run)


def test_a_pair_decided_without_a_least_factor_is_more_than_one() -> None:
    ratio = Comparison("c0", "c1", 1.2, 1.000000001, 1.54, decided=True)
    with_decision = run_of(cell("nng", 10, 9, 11), cell("zenoh", 12, 11, 13))
    with_decision.rankings = {with_decision.rows[0].cell.group: Decided(ratio)}
    assert "takes more than 1 and at most 1.54 times as long" in text_of(with_decision)
    assert formatting.ratio_bracket(ratio.low, ratio.high) == "(>1–1.54)"
    assert formatting.ratio_bracket(0.999, 1.54) == "(0.999–1.54)"
    assert formatting.ratio_interval(ratio.low, ratio.high) == "more than 1, at most 1.54"
    assert formatting.ratio_interval(1.02, 1.54) == "1.02 to 1.54"
    faster = ratio.swap()
    assert formatting.ratio_bracket(faster.low, faster.high) == "(0.649–<1)"
    assert formatting.ratio_interval(faster.low, faster.high) == "at least 0.649, less than 1"


class Decided(TableRanking):
    """A table whose comparison is already known."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__("", SimpleNamespace(cells=(comparison.a, comparison.b)))
        self.__dict__["comparisons"] = [comparison]
