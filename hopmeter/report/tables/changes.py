"""Tables of a comparison: each cell's old value, new value, change with interval, and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hopmeter.analysis.results.groups import Group
from hopmeter.comparison.change import Change, Side
from hopmeter.report.comparisons import words
from hopmeter.report.tables.model import Column, Line, Table, Value, table
from hopmeter.report.words import conditions

COLUMNS = (
    Column("Cell", "name", heads=True, short="cell"),
    Column("Old", "number"),
    Column("New", "number"),
    Column("Change", "number", "~: no significant difference", short="change"),
    Column("95 % interval", "number", short="95 % interval", key="interval", optional=True),
    Column("Verdict", short="verdict", optional=True),
)
SIDES = ("Old", "New")


def change_tables(changes: Sequence[Change]) -> list[Table]:
    """Return the tables of a comparison. Each group of comparable cells has a table of latencies and a table of missed
    deadlines."""
    return [
        _table(group, alike)
        for key, group in words.tables(changes).items()
        for alike in by_unit([each for each in changes if each.cell.group == key])
    ]


def by_unit(changes: Sequence[Change]) -> list[list[Change]]:
    """Split changes into two lists: the latency changes and the missed-deadline changes. Empty lists are left out."""
    both = ([each for each in changes if each.is_share is is_share] for is_share in (False, True))
    return [own for own in both if own]


def _table(group: Group, changes: Sequence[Change]) -> Table:
    unit, metric = words.unit(changes[0]), _metric_name(changes[0])
    columns = [
        replace(each, unit=unit, short=f"{each.title.lower()} {unit}") if each.title in SIDES else each
        for each in COLUMNS
    ]
    title = f"{conditions.title(group)}, {metric}"
    return replace(table(title, columns, [_line(each) for each in changes]), chips=conditions.chips(group))


def _metric_name(each: Change) -> str:
    """Return the name of the metric, such as `p50` for the column `response_p50_us`."""
    return "missed deadlines" if each.is_share else each.metric.removesuffix("_us").rpartition("_")[2]


def _line(each: Change) -> Line:
    size = each.difference if each.is_share else each.ratio
    return Line(
        [
            Value(each.name, sort=each.name),
            *(_side_value(each, side) for side in (each.old, each.new)),
            Value(words.change(each), sort=size, ends=(each.low, each.high)),
            Value(words.interval(each), data=words.interval(each)),
            Value(words.shown_verdict(each), sort=each.verdict),
        ]
    )


def _side_value(each: Change, side: Side | None) -> Value:
    return Value(words.value(each, side), sort=side and side.value)
