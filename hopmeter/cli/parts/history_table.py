"""Prints a history: a table for each group of cells, or JSON."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from hopmeter.analysis.groups import Group
from hopmeter.analysis.history import METRICS, History, Point, Series, differences
from hopmeter.analysis.run_results import Row
from hopmeter.model.cell import CONDITIONS
from hopmeter.report import conditions, formatting
from hopmeter.report.history_words import cell_name, changes_in_words, summary
from hopmeter.system.tables import print_whole
from hopmeter.system.terminal import Console

HEADS = ("cell", "runs", "p50 µs", "p99 µs", "changes")


def print_history(history: History) -> None:
    """Print a table for each group of cells, then how many cells changed."""
    console = Console(highlight=False)
    for group in history.groups():
        console.print(Text(conditions.title(group), style="bold cyan"))
        print_whole(console, _table(history, group))
        console.print()
    for sentence in summary(history):
        console.print(Text(sentence))


def _table(history: History, group: Group) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for head in HEADS:
        table.add_column(head, justify="left" if head in ("cell", "changes") else "right", overflow="fold")
    for row in group.rows:
        table.add_row(*_line(row, history.of(row)))
    return table


def _line(row: Row, series: dict[str, Series]) -> list[str]:
    levels = [formatting.number(series[name].levels[-1]) if name in series else formatting.NOTHING for name in METRICS]
    changes = [text for each in series.values() for text in changes_in_words(each)]
    return [cell_name(row), str(len(series[METRICS[0]].points)), *levels, "\n".join(changes)]


def as_json(series: Series) -> dict[str, Any]:
    """Return a series with its points and changes."""
    row = series.latest
    names = ("transport", "language", "profile", *CONDITIONS)
    return {
        "machine": series.machine,
        **{name: row[name] for name in names},
        "metric": f"{row.headline}_{series.metric}_us",
        "points": [
            _point(point, level)
            for stretch, level in zip(series.stretches, series.levels, strict=True)
            for point in stretch
        ],
        "changes": [_change(series, place) for place in range(len(series.changes))],
    }


def _point(point: Point, level: float) -> dict[str, Any]:
    values = {"value": point.value, "low": point.low, "high": point.high, "level": level}
    return {"run": point.run.name, "started": point.run.text("started"), **values}


def _change(series: Series, place: int) -> dict[str, Any]:
    change = series.changes[place]
    before, after = (series.points[index].row for index in (change.index - 1, change.index))
    return {
        "run": after.run.name,
        "ratio": series.ratios[place],
        "p": change.p,
        "new": differences(before, after),
    }
