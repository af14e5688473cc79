"""Throughput of several concurrent pairs, compared with the speed at which one core copies memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from hopmeter.analysis.results.groups import Group, families, labels
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import PLAIN, Ends, Figure, Style, frame, legend, log_axis, span, table
from hopmeter.report.words import formatting

ORDER = 71
HEIGHT = 250


def across(groups: Sequence[Group], style: Style) -> Iterator[Figure]:
    """Yield a figure for each set of groups that differ only in their number of pairs."""
    found = [each for each in families(groups, ["pairs"]) if len({group.conditions["pairs"] for group in each}) > 1]
    for number, family in enumerate(found, 1):
        rows = [row for group in family for row in group.candidates if row["achieved_mb_s"]]
        memory = _memory_mb_s(rows)
        ends = span([*(row["achieved_mb_s"] for row in rows), memory], margin=1.25)
        if ends is not None:
            yield Figure(
                f"across-throughput-{number}",
                "Throughput of all pairs",
                "The data that all pairs together received per second. For calls, only replies count, so an echo "
                "transfers twice as much. "
                + ("Dashed line: the speed at which one core of this machine copies memory." if memory else ""),
                _chart(rows, memory, style, ends),
                "; ".join(_words(row, memory) for row in rows),
            )


def _memory_mb_s(rows: Sequence[Row]) -> float | None:
    """Return the speed in MB/s at which one core copied memory before the run. Return None if the runs measured
    different copy speeds."""
    known = {row.run.part("instrument").get("copy_bytes_per_ns") for row in rows}
    one = next(iter(known)) if len(known) == 1 else None
    return one * 1000 if one else None


def _words(row: Row, memory: float | None) -> str:
    share = f", {formatting.times(row.number('achieved_mb_s') / memory)} the copy speed of one core" if memory else ""
    pairs = formatting.plural(row["pairs"], "pair")
    return f"{formatting.row_name(row)}, {pairs}: {formatting.number(row['achieved_mb_s'])} MB/s{share}"


def _chart(rows: Sequence[Row], memory: float | None, style: Style, ends: Ends) -> alt.TopLevelMixin:
    names = labels(rows, ["pairs"])
    named = {names[id(row)]: row for row in rows}
    data = [
        {"series": names[id(row)], "pairs": row["pairs"], "mb_s": row["achieved_mb_s"], "tip": _words(row, memory)}
        for row in rows
    ]
    shown = legend(list(named))
    pairs = sorted({row["pairs"] for row in rows})
    axis = alt.Axis(values=pairs, format="d", title="pairs at once")
    x = alt.X("pairs:Q", axis=axis, scale=alt.Scale(zero=False, nice=False, padding=14))
    y = alt.Y("mb_s:Q", **log_axis(ends, "MB/s", 7, PLAIN))
    base = alt.Chart(table(data)).encode(
        x=x, y=y, color=style.colour(named, shown), description=alt.Description("tip:N")
    )
    lines = base.mark_line().encode(strokeDash=style.dash(named, shown))
    dots = base.mark_point(filled=True, size=40, opacity=1)
    return frame(alt.layer(*_copying(memory, pairs[0]), lines, dots), HEIGHT)


def _copying(memory: float | None, left: float) -> list[Any]:
    """Return a dashed line, with a label, at the copy speed of one core. Return an empty list if the copy speed is
    unknown."""
    if memory is None:
        return []
    data = table([{"mb_s": memory, "at": left, "name": "copy speed of one core"}])
    rule = alt.Chart(data).mark_rule(strokeDash=[3, 3], strokeWidth=1.2, color=theme.SOFT).encode(y=alt.Y("mb_s:Q"))
    name = alt.Chart(data).mark_text(align="left", baseline="bottom", dy=-3, aria=False)
    return [rule, name.encode(x=alt.X("at:Q"), y=alt.Y("mb_s:Q"), text=alt.Text("name:N"))]
