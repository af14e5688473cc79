"""What figures have in common: who wears which colour, logarithmic axes of latency, legends that fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from hopmeter.report import folding, theme
from hopmeter.report.source import Row, Run

LATENCY = (
    "datum.value < 0.9999 ? format(datum.value * 1e3, '.3~r') + ' ns'"
    " : datum.value < 999.9 ? format(datum.value, '.3~r') + ' µs'"
    " : datum.value < 999900 ? format(datum.value / 1e3, '.3~r') + ' ms'"
    " : format(datum.value / 1e6, '.3~r') + ' s'"
)
"""A tick of a latency axis in the unit a person would say it in; the values are microseconds."""
PLAIN = (
    "datum.value < 1000 ? format(datum.value, '.3~r')"
    " : replace(format(datum.value, ','), regexp(',', 'g'), '\N{NARROW NO-BREAK SPACE}')"
)
"""A tick that has no unit of its own, written as `words.number` writes it."""
SYMBOL = 46.0
"""What a line of the legend and the gaps beside it take."""
ROOM = int((theme.WIDTH - SYMBOL) // folding.WIDE)
"""Letters of a legend's line."""


@dataclass(frozen=True)
class Figure:
    """One figure of one group: a chart, what it shows, and how to read it."""

    name: str
    title: str
    caption: str
    chart: alt.TopLevelMixin
    alternative: str
    """What a person learns who cannot see it."""


@dataclass(frozen=True)
class Style:
    """A colour for each transport and a dash for each language and profile, the same through the whole report."""

    transports: tuple[str, ...]
    variants: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Style:
        """Given out by name, so that the same transports look the same in the next report."""
        rows = [row for run in runs for row in run.measured]
        variants = sorted(
            {_variant(row) for row in rows}, key=lambda variant: (bool(variant[1]), _language(variant[0]), variant[1])
        )
        return cls(tuple(sorted({str(row["transport"]) for row in rows})), tuple(variants))

    def place(self, row: Row) -> tuple[int, int]:
        """(colour, dash)."""
        turn, colour = divmod(self.transports.index(str(row["transport"])), len(theme.SERIES))
        return colour, (turn + self.variants.index(_variant(row))) % len(theme.DASHES)

    def colour(self, named: Mapping[str, Row], legend: alt.Legend | None = None, channel: Any = alt.Color) -> Any:
        """The colour channel, or only `alt.Fill` or `alt.Stroke`, over a column `series` that holds names of rows."""
        shades = [theme.SERIES[self.place(row)[0]] for row in named.values()]
        return channel("series:N", scale=alt.Scale(domain=list(named), range=shades), legend=legend, sort=None)

    def dash(self, named: Mapping[str, Row], legend: alt.Legend | None = None) -> alt.StrokeDash:
        """The dash channel over the same column; with the same legend it melts into that of the colour."""
        dashes = [theme.DASHES[self.place(row)[1]] for row in named.values()]
        return alt.StrokeDash("series:N", scale=alt.Scale(domain=list(named), range=dashes), legend=legend, sort=None)


def _variant(row: Row) -> tuple[str, str]:
    return str(row["language"]), str(row["profile"] or "")


def _language(name: str) -> tuple[int, str]:
    known = ("rust", "c++", "python")
    return known.index(name) if name in known else len(known), name


def framed(chart: Any, height: float) -> alt.TopLevelMixin:
    """A chart as wide as every other, names of its axes included."""
    fitted: alt.TopLevelMixin = chart.properties(
        width=theme.WIDTH, height=height, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    return fitted


def legend(labels: Sequence[str]) -> alt.Legend | None:
    """Above the figure; none for a single series."""
    return fitting(labels, symbolType="stroke") if len(labels) > 1 else None


def fitting(labels: Sequence[str], **how: Any) -> alt.Legend:
    """A legend in as many columns as fit; a name that is too long for one line stands on several."""
    widest = min(ROOM, max(map(len, labels)))
    columns = max(1, int(theme.WIDTH // (widest * folding.LETTER + SYMBOL)))
    how = folding.told(labels, ROOM) | how
    return alt.Legend(columns=min(columns, len(labels)), symbolOpacity=1, title=None, **how)


def ticks(low: float, high: float, room: int) -> list[float]:
    """At most `room` round values between two positive ones, on a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**power for power in decades for step in steps if low <= step * 10.0**power <= high]
        if 3 <= len(found) <= room:
            return found
    whole = [10.0**power for power in decades if low <= 10.0**power <= high]
    return whole[:: math.ceil(len(whole) / room)] if len(whole) > 1 else _fine(low, high, room)


def _fine(low: float, high: float, room: int) -> list[float]:
    """Less than a decade: evenly spaced round values."""
    for step in (step * 10.0**power for power in range(-6, 9) for step in (1, 2, 5)):
        first = math.ceil(low / step)
        if (many := math.floor(high / step) - first + 1) <= min(room, 6):
            return _apart([round((first + place) * step, 9) for place in range(many)], (high / low) ** (1 / (room + 1)))
    return []


def _apart(values: list[float], ratio: float) -> list[float]:
    """Those that do not crowd on a logarithmic axis, from the lowest on."""
    kept: list[float] = []
    for value in values:
        if not kept or kept[-1] <= 0 or value / kept[-1] >= ratio:
            kept.append(value)
    return kept


def span(values: Iterable[float | None], margin: float = 1.12) -> tuple[float, float] | None:
    """The ends of a logarithmic axis that holds all positive values; None where there are none."""
    positive = [value for value in values if value is not None and value > 0 and math.isfinite(value)]
    return (min(positive) / margin, max(positive) * margin) if positive else None


def log_axis(ends: tuple[float, float], title: str, room: int, expression: str = LATENCY) -> dict[str, Any]:
    """The `scale` and `axis` arguments of a channel."""
    return {
        "scale": alt.Scale(type="log", domain=list(ends), nice=False, zero=False),
        "axis": alt.Axis(values=ticks(*ends, room), labelExpr=expression, title=title, labelOverlap=False),
    }


def table(rows: list[dict[str, Any]]) -> alt.InlineData:
    """Rows as data that stand inside the chart."""
    return alt.InlineData(values=[{key: _short(value) for key, value in row.items()} for row in rows])


def _short(value: Any) -> Any:
    """Four digits are more than a figure can show."""
    return float(f"{value:.5g}") if isinstance(value, float) else value
