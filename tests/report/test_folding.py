"""Long setting names are shown completely in every figure."""

from __future__ import annotations

import re

import pytest

from hopmeter.analysis.results.groups import groups
from hopmeter.report import figures
from hopmeter.report.drawing import folding, svg
from hopmeter.report.drawing.charts import ROOM, Style, fit_legend
from tests.report.rows import cell, run_of

SETTINGS = ["durability=transient-local", "executor=events", "reliability=best-effort", "callback_group_of=process"]
LONG = " ".join(SETTINGS)


@pytest.mark.parametrize("room", [folding.AXIS, ROOM])
def test_a_folded_name_is_whole_and_has_room(room: int) -> None:
    lines = folding.fold(f"ros2 c++ {LONG}", room)
    assert " ".join(lines) == f"ros2 c++ {LONG}"
    assert 1 < len(lines) <= 5
    assert max(map(len, lines)) <= room


def test_a_short_name_is_left_as_it_is() -> None:
    assert "labelExpr" not in fit_legend(["tcp", "zenoh rust"]).to_dict()
    assert folding.row_height(["tcp", "zenoh rust"], least=26) == 26


def test_rows_are_as_high_as_their_names() -> None:
    assert folding.row_height(["tcp", LONG], least=26) >= folding.LINE * folding.line_count([LONG])


def visible_text(whole: str) -> str:
    return " ".join(re.findall(r">([^<>]+)</(?:text|tspan)>", whole))


def test_no_figure_cuts_a_name() -> None:
    profiles = [" ".join(SETTINGS[:count]) for count in range(1, 5)]
    rows = [
        cell("ros2", 10.0 + place, profile=each, cpu_us_per_message=9.0 - place / 4)
        for place, each in enumerate(profiles)
    ]
    run = run_of(*rows, cell("tcp", 100.0, cpu_us_per_message=1.0))
    [group] = groups([run])
    drawn = {figure.name: visible_text(svg.draw(figure)) for figure in figures.draw(group, Style.of([run]))}
    assert {"ranking", "cpu"} <= set(drawn)
    for text in drawn.values():
        assert "…" not in text
        assert LONG in text
