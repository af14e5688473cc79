"""The table of a history: the newest level of each cell, and the cell's changes."""

from __future__ import annotations

from dataclasses import replace

from hopmeter.analysis.history.cell_history import METRICS, History, Series
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.tables import model
from hopmeter.report.tables.model import Column, Line, Table, Value
from hopmeter.report.words import conditions, formatting
from hopmeter.report.words.history_words import cell_name, changes_in_words

COLUMNS = (
    Column("Cell", "name", heads=True, short="cell"),
    Column("Runs", "number", short="runs"),
    *(
        Column(f"{metric}, µs", "number", "newest level", short=f"{metric} µs", key=f"{metric}_us")
        for metric in METRICS
    ),
    Column("Changes", short="changes"),
)


def table(history: History, group: Group) -> Table:
    """Return the history table of a group of cells."""
    title = conditions.title(group)
    lines = [_line(row, history.of(row)) for row in group.rows]
    return replace(model.table(title, COLUMNS, lines), chips=conditions.chips(group))


def _line(row: Row, series: dict[str, Series]) -> Line:
    runs = len(series[METRICS[0]].points)
    levels = [series[name].levels[-1] if name in series else None for name in METRICS]
    changes = [text for each in series.values() for text in changes_in_words(each)]
    said = Value("; ".join(changes) or formatting.NOTHING, short="\n".join(changes), data="; ".join(changes))
    texts = [Value(formatting.number(level), sort=level) for level in levels]
    return Line([Value(cell_name(row), sort=cell_name(row)), Value(str(runs), sort=runs), *texts, said])
