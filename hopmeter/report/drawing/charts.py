"""Shared parts of figures: transport colours, logarithmic latency axes, legends and common charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.drawing import folding, theme

LATENCY = (
    "datum.value < 0.9999 ? format(datum.value * 1e3, '.3~r') + ' ns'"
    " : datum.value < 999.9 ? format(datum.value, '.3~r') + ' µs'"
    " : datum.value < 999900 ? format(datum.value / 1e3, '.3~r') + ' ms'"
    " : format(datum.value / 1e6, '.3~r') + ' s'"
)
"""A Vega expression that formats a latency tick in a suitable unit. The expression expects microseconds."""
PLAIN = (
    "datum.value < 1000 ? format(datum.value, '.3~r')"
    " : replace(format(datum.value, ','), regexp(',', 'g'), '\N{NARROW NO-BREAK SPACE}')"
)
"""A Vega expression that formats a tick label as `formatting.number` does."""
SYMBOL = 46.0
"""The width of a legend symbol in pixels, including the gaps around the symbol."""
ROOM = int((theme.WIDTH - SYMBOL) // folding.WIDE)
"""The number of characters on one line of a legend."""
ROW = 26
"""The height of a row of dots, in pixels."""
SHAPE = alt.condition("datum.who == 'all'", alt.value("diamond"), alt.value("circle"))
Ends = tuple[float, float]
Data = list[dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """A chart with its title and a caption that explains how to read it."""

    name: str
    """The figure's anchor in the page, and the stem of its file names."""
    title: str
    caption: str
    chart: alt.TopLevelMixin
    alternative: str
    """A text alternative for readers who cannot see the chart."""


@dataclass(frozen=True)
class Style:
    """The colour of each transport and the dash pattern of each language and profile, for the whole report."""

    transports: tuple[str, ...]
    variants: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Style:
        """Return a style that assigns colours and dashes by name, so that reports on the same transports look alike."""
        rows = [row for run in runs for row in run.measured_rows]
        variants = sorted(
            {_variant(row) for row in rows}, key=lambda variant: (bool(variant[1]), _language(variant[0]), variant[1])
        )
        return cls(tuple(sorted({str(row["transport"]) for row in rows})), tuple(variants))

    def place(self, row: Row) -> tuple[int, int]:
        """Return the indices of a row's colour and dash pattern."""
        turn, colour = divmod(self.transports.index(str(row["transport"])), len(theme.SERIES))
        return colour, (turn + self.variants.index(_variant(row))) % len(theme.DASHES)

    def colour(self, named: Mapping[str, Row], legend: alt.Legend | None = None, channel: Any = alt.Color) -> Any:
        """Return the colour channel for the column `series`. The argument `channel` selects `alt.Fill` or `alt.Stroke`
        instead of `alt.Color`."""
        shades = [theme.SERIES[self.place(row)[0]] for row in named.values()]
        return channel("series:N", scale=alt.Scale(domain=list(named), range=shades), legend=legend, sort=None)

    def dash(self, named: Mapping[str, Row], legend: alt.Legend | None = None) -> alt.StrokeDash:
        """Return the dash channel for the column `series`. Vega merges the legends of colour and dash pattern if both
        channels use one legend object."""
        dashes = [theme.DASHES[self.place(row)[1]] for row in named.values()]
        return alt.StrokeDash("series:N", scale=alt.Scale(domain=list(named), range=dashes), legend=legend, sort=None)


def _variant(row: Row) -> tuple[str, str]:
    return str(row["language"]), str(row["profile"] or "")


def _language(name: str) -> tuple[int, str]:
    known = ("rust", "c++", "python")
    return known.index(name) if name in known else len(known), name


def frame(chart: Any, height: float) -> alt.TopLevelMixin:
    """Return the chart in the common width of all figures, which includes the axis labels."""
    framed: alt.TopLevelMixin = chart.properties(
        width=theme.WIDTH, height=height, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    return framed


def legend(labels: Sequence[str]) -> alt.Legend | None:
    """Return a legend above the figure, or None for a single series."""
    return fit_legend(labels, symbolType="stroke") if len(labels) > 1 else None


def fit_legend(labels: Sequence[str], **how: Any) -> alt.Legend:
    """Return a legend that wraps long names and has as many columns as fit into the figure."""
    widest = min(ROOM, max(map(len, labels)))
    columns = max(1, int(theme.WIDTH // (widest * folding.WIDE + SYMBOL)))
    how = folding.fold_labels(labels, ROOM) | how
    return alt.Legend(columns=min(columns, len(labels)), symbolOpacity=1, title=None, **how)


def ticks(low: float, high: float, room: int) -> list[float]:
    """Return at most `room` round values between two positive bounds, as ticks of a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**power for power in decades for step in steps if low <= step * 10.0**power <= high]
        if 3 <= len(found) <= room:
            return found
    whole = [10.0**power for power in decades if low <= 10.0**power <= high]
    return whole[:: math.ceil(len(whole) / room)] if len(whole) > 1 else _fine_ticks(low, high, room)


def _fine_ticks(low: float, high: float, room: int) -> list[float]:
    """Return evenly spaced round values for a logarithmic axis that spans less than a factor of ten."""
    for step in (step * 10.0**power for power in range(-6, 9) for step in (1, 2, 5)):
        first = math.ceil(low / step)
        if (many := math.floor(high / step) - first + 1) <= min(room, 6):
            values = [round((first + place) * step, 9) for place in range(many)]
            return _thin(values, (high / low) ** (1 / (room + 1)))
    return []


def _thin(values: Sequence[float], ratio: float) -> list[float]:
    """Remove values until the tick labels of a logarithmic axis no longer overlap."""
    found: list[float] = []
    for value in values:
        if not found or found[-1] <= 0 or value / found[-1] >= ratio:
            found.append(value)
    return found


def span(values: Iterable[float | None], margin: float = 1.12) -> Ends | None:
    """Return the bounds of a logarithmic axis that contains all positive values, or None if no value is positive."""
    positive = [value for value in values if value is not None and value > 0 and math.isfinite(value)]
    return (min(positive) / margin, max(positive) * margin) if positive else None


def log_axis(ends: Ends, title: str, room: int, expression: str = LATENCY, grid: bool = False) -> dict[str, Any]:
    """Return the `scale` and `axis` arguments for a channel with a logarithmic axis."""
    more: dict[str, Any] = {"grid": True} if grid else {}
    return {
        "scale": alt.Scale(type="log", domain=list(ends), nice=False, zero=False),
        "axis": alt.Axis(values=ticks(*ends, room), labelExpr=expression, title=title, labelOverlap=False, **more),
    }


def table(rows: Data) -> alt.InlineData:
    """Return rows as inline chart data. Values are rounded to five digits, because figures show at most four."""
    return alt.InlineData(
        values=[
            {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in row.items()}
            for row in rows
        ]
    )


def dot_rows(data: Data, named: Mapping[str, Row], style: Style, ends: Ends) -> alt.TopLevelMixin:
    """Return a chart with one line for each row. Each line has a dot at `p50`, a bar from `low` to `high`, a tick at
    `p99` and, if known, a ring at `ring`."""
    names = list(named)
    x: dict[str, Any] = log_axis(ends, "", 6 if max(map(len, names)) < 16 else 5)
    axis = alt.Axis(labelColor=theme.INK, labelPadding=8, domain=False, ticks=False, **folding.axis_labels(names))
    rows = alt.Chart(table(data)).encode(y=alt.Y("series:N", sort=None, title=None, axis=axis))
    base = rows.encode(color=style.colour(named), description=alt.Description("tip:N"))
    bars = base.mark_bar(height=9, cornerRadius=2, opacity=0.35).encode(x=alt.X("low:Q", **x), x2=alt.X2("high:Q"))
    tails = base.transform_filter("datum.p99 != null").mark_tick(size=9, thickness=1.5, opacity=0.75)
    layers = [
        rows.mark_rule(color=theme.GRID),
        bars,
        tails.encode(x=alt.X("p99:Q"), description=alt.Description("tip99:N")),
    ]
    if any(datum.get("ring") is not None for datum in data):
        rings = base.transform_filter("datum.ring != null").mark_point(
            filled=False, size=62, strokeWidth=1.3, opacity=1
        )
        layers.append(rings.encode(x=alt.X("ring:Q")))
    dots = base.mark_point(filled=True, size=58, opacity=1).encode(x=alt.X("p50:Q"))
    return frame(alt.layer(*layers, dots), folding.row_height(names, ROW) * len(names))


def receiver_layers(base: alt.Chart, ends: Ends) -> list[alt.Chart]:
    """Return chart layers: a dot at `p50`, a line to `p99` and a ring at `ring`. The dot for all receivers together is
    a diamond."""
    tails = base.transform_filter("datum.p99 != null")
    rings = base.transform_filter("datum.ring != null").mark_point(filled=False, size=56, strokeWidth=1.2, opacity=1)
    lines = tails.mark_rule(strokeWidth=1.2, opacity=0.6)
    return [
        lines.encode(x=alt.X("p50:Q", **log_axis(ends, "", 5, grid=True)), x2=alt.X2("p99:Q")),
        tails.mark_tick(size=8, thickness=1.5).encode(x=alt.X("p99:Q")),
        rings.encode(x=alt.X("ring:Q")),
        base.mark_point(filled=True, size=52, opacity=1).encode(x=alt.X("p50:Q"), shape=SHAPE),
    ]
