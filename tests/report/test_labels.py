"""Tests for labels next to dots, and for labels without enough space."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

from hopmeter.analysis.results.groups import groups
from hopmeter.report.drawing.charts import Style
from hopmeter.report.drawing.folding import LETTER, LINE
from hopmeter.report.drawing.label_placement import DOT, Box, Label, Plot, place
from hopmeter.report.figures import latency_and_cpu
from tests.report.rows import cell, run_of

PLOT = Plot((1.0, 1000.0), (1.0, 1000.0), 370, 260)


def draw(many: int, apart: float) -> dict[str, Any]:
    """Draw a figure with many rows, each `apart` times slower than the previous one. Each row except the first uses
    more CPU than the row before it."""
    rows = [
        cell(f"transport{number}", 50.0 * apart**number, cpu_us_per_message=100.0 * apart**number)
        for number in range(many)
    ]
    run = run_of(*rows)
    (group,) = groups([run])
    figure = latency_and_cpu.draw(group, Style.of([run]))
    assert figure
    chart: dict[str, Any] = figure.chart.to_dict()
    texts = [layer for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    names = [[each["name"] for each in chart["datasets"][layer["data"]["name"]]] for layer in texts]
    legends = [layer["encoding"]["color"].get("legend") for layer in chart["layer"] if "color" in layer["encoding"]]
    above = chain.from_iterable(names[len(names) // 2 :])
    return {
        "names": sorted(above, key=lambda name: (len(name) < 3, len(name), name)),
        "legend": legends[0],
        "caption": figure.caption,
    }


def test_few_rows_have_their_names_beside_their_dots() -> None:
    found = draw(4, 3.0)
    assert found["names"] == [f"transport{number}" for number in range(4)]
    assert found["legend"] is None


def test_crowded_rows_have_numbers_and_the_front_its_names() -> None:
    found = draw(20, 1.02)
    assert found["names"] == ["transport0", *map(str, range(1, 20))]
    assert found["legend"]["values"] == [f"{number}  transport{number}" for number in range(1, 20)]
    assert "numbered from fast to slow" in found["caption"]


def test_more_than_anybody_looks_up_have_neither() -> None:
    found = draw(latency_and_cpu.MOST + 2, 1.01)
    assert found["names"] == ["transport0"]
    assert found["legend"] is None
    assert "Only the rows on the line are named" in found["caption"]


def box(label: Label) -> Box:
    across, down = PLOT.pixel(label.x, label.y)
    wide = len(label.text) * LETTER
    left = across + label.dx - {"left": 0.0, "right": wide, "center": wide / 2}[label.align]
    return left, down + label.dy - LINE / 2, left + wide, down + label.dy + LINE / 2


def meet(one: Box, other: Box) -> bool:
    return min(one[2], other[2]) > max(one[0], other[0]) and min(one[3], other[3]) > max(one[1], other[1])


def test_numbers_of_twenty_dots_in_a_heap_cover_neither_each_other_nor_a_dot() -> None:
    dots = [(str(number), 20.0 * 1.8 ** (number % 5), 20.0 * 1.9 ** (number // 5)) for number in range(20)]
    labels = place(dots, PLOT)
    spots = [PLOT.pixel(x, y) for _, x, y in dots]
    assert {label.text for label in labels} == {text for text, _, _ in dots}
    assert not any(meet(box(one), box(other)) for one, other in combinations(labels, 2))
    assert not any(meet(box(each), (x - DOT, y - DOT, x + DOT, y + DOT)) for each in labels for x, y in spots)
    assert not any(each.covers for each in labels)


def test_numbers_of_a_pile_stand_around_it_with_lines_to_their_dots() -> None:
    labels = place([(str(number), 100.0 * 1.02**number, 100.0) for number in range(26)], PLOT)
    assert len(labels) == 26
    assert not any(meet(box(one), box(other)) for one, other in combinations(labels, 2))
    led = [label for label in labels if label.leader(PLOT)]
    assert labels[0] not in led
    assert len(led) > 5
    ends = [PLOT.pixel(*end) for label in led if (end := label.leader(PLOT))]
    assert all(0 <= across <= PLOT.width and 0 <= down <= PLOT.height for across, down in ends)


def test_a_name_that_has_to_cover_something_says_so() -> None:
    labels = place([(f"transport{number}", 100.0, 100.0) for number in range(20)], PLOT)
    assert labels[-1].covers > 0.0
