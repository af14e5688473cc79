"""Sinks that behave differently are shown separately, not only in a common distribution."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.analysis.results.groups import groups
from hopmeter.report.drawing.charts import Figure, Style
from hopmeter.report.figures import sink_by_sink
from tests.report.rows import cell, run_of

TOLD = {
    "sinks_service_p50_us": [0.5, 900.0],
    "sinks_service_mean_us": [0.75, 950.0],
    "sinks_service_p99_us": [None, 1200.0],
    "service_p50_us": 901.0,
    "placement": "thread",
    "sinks": 2,
}


def draw(**conditions: Any) -> Figure | None:
    run = run_of(cell("memory", 910, **TOLD, **conditions))
    (group,) = groups([run])
    return sink_by_sink.draw(group, Style.of([run]))


def test_each_sink_has_a_line_that_says_how_it_waits() -> None:
    figure = draw(wait="callback+block")
    assert figure is not None
    assert [part.split(" p50")[0] for part in figure.alternative.split("; ")] == [
        "memory: sink 1 (callback)",
        "memory: sink 2 (block)",
        "memory: all",
    ]
    assert [(row["p50"], row["p99"]) for row in lines(figure)] == [(0.5, None), (900, 1200), (901, None)]


def lines(figure: Figure) -> list[dict[str, Any]]:
    whole = figure.chart.to_dict()
    (rows,) = whole["datasets"].values()
    return list(rows)


def test_sinks_that_work_differently_are_told_apart_too() -> None:
    figure = draw(wait="block", work="copy:frame/none")
    assert figure is not None
    assert "memory: sink 2 p50" in figure.alternative


@pytest.mark.parametrize("conditions", [{}, {"wait": "block"}, {"work": "copy:frame"}])
def test_sinks_that_do_the_same_are_one_figure(conditions: dict[str, Any]) -> None:
    assert draw(**conditions) is None
