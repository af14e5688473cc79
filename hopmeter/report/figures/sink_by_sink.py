"""Figure of the latencies of sinks that differ in wait mode or work, and of the time until all have the message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.model.cell_parts import waits_of
from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import Figure, Style, frame, receiver_layers, span, table
from hopmeter.report.words import formatting

ORDER = 63
ROW = 17


def draw(group: Group, style: Style) -> Figure | None:
    """Return the figure, with a line for each sink and one for all sinks together. Return None if the wait mode and the
    work are equal for all sinks."""
    if not _is_mixed(group):
        return None
    data = [datum for row in group.measured_rows for datum in _data(row, group.label(row))]
    ends = span((datum[key] for datum in data for key in ("p50", "ring", "p99")), margin=1.06)
    if ends is None:
        return None
    series = {datum["series"] for datum in data}
    for datum in data:
        datum["name"] = f"{datum['series']}, {datum['who']}" if len(series) > 1 else datum["who"]
    colour = style.colour(group.rows_by_name(row for row in group.measured_rows if group.label(row) in series))
    y = alt.Y("name:N", sort=None, axis=alt.Axis(title=None, labelColor=theme.INK, labelLimit=400))
    base = alt.Chart(table(data)).encode(y=y, color=colour, description=alt.Description("tip:N"))
    return Figure(
        "sinks",
        "Latency of each sink",
        "Dot: the median time from sending to arrival at each sink. Ring: the mean. Small line: p99, if there are "
        "enough messages. Diamond: the median time until all sinks have the message.",
        frame(alt.layer(*receiver_layers(base, ends)), ROW * (len(data) + 1.4)),
        "; ".join(datum["tip"] for datum in data),
    )


def _is_mixed(group: Group) -> bool:
    return "+" in str(group.conditions["wait"]) or "/" in str(group.conditions["work"])


def _data(row: Row, series: str) -> Iterator[dict[str, Any]]:
    p50s = row["sinks_service_p50_us"] or []
    means, tails = (row.get(f"sinks_service_{each}_us") or [None] * len(p50s) for each in ("mean", "p99"))
    for number, (p50, mean, p99) in enumerate(zip(p50s, means, tails, strict=True)):
        if p50 is not None:
            yield _datum(series, _name(row, number), p50, mean, p99)
    if p50s and (median := row.median("service")) is not None:
        yield _datum(series, "all", median, row["service_mean_us"], row["service_p99_us"])


def _datum(series: str, who: str, p50: float, mean: float | None, p99: float | None) -> dict[str, Any]:
    known = {"p50": p50, "mean": mean, "p99": p99}
    words = ", ".join(f"{name} {formatting.microseconds(us)}" for name, us in known.items() if us)
    return {"series": series, "who": who, "p50": p50, "ring": mean, "p99": p99, "tip": f"{series}: {who} {words}"}


def _name(row: Row, number: int) -> str:
    """Return the sink's label, which includes the sink's wait mode if the sinks wait in different ways."""
    waits = waits_of(str(row["wait"]))
    return f"sink {number + 1}" + (f" ({waits[number]})" if len(waits) > 1 else "")
