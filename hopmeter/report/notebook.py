"""What a notebook or a script asks of runs: every message as a row of a table, and the study's figure."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import altair as alt
import polars as pl

from hopmeter.errors import UsageError
from hopmeter.report import codecs, theme
from hopmeter.report.drawing import Style
from hopmeter.report.figures import boxes as figure
from hopmeter.report.grouping import Group, families, groups
from hopmeter.report.samples import Delivered, Missed, delivered
from hopmeter.report.source import Row, Run, read
from hopmeter.store.disk import StoreError

COLUMNS = {
    "middleware": pl.String,
    "plugin": pl.String,
    "timestamp": pl.Float64,
    "count": pl.Int64,
    "delay": pl.Float64,
    "language": pl.String,
    "cell": pl.String,
    "trial": pl.Int64,
    "flow": pl.Int64,
}
"""The first five are those of the study of native objects."""
TITLE: dict[str, Any] = {"anchor": "start", "fontSize": 12.0, "fontWeight": "normal", "color": theme.SOFT}


def boxes(*runs: Path) -> alt.TopLevelMixin:
    """A notched box for each codec, transport and language that these runs measured, on a logarithmic axis in ms.

    Conditions that may not be compared are charts below each other. Raises UsageError where nothing was measured.
    """
    found = [read(run) for run in runs]
    style = Style.of(found)
    charts = [_chart(family, style) for family in families(groups(found), codecs.ASIDE) if codecs.placed(family)]
    if not charts:
        raise UsageError(f"{_listed(runs)}: no cell gave a latency", "`hopmeter show RUN` tells why")
    return _themed(charts[0] if len(charts) == 1 else alt.vconcat(*charts).resolve_scale(color="independent"))


def _chart(family: Sequence[Group], style: Style) -> alt.LayerChart | alt.FacetChart:
    placed = codecs.placed(family)
    size = {"width": theme.WIDTH, "height": codecs.height(placed)}
    return figure.layers(placed, style).properties(
        title=alt.Title(textwrap.wrap(codecs.conditions(family), 84), **TITLE), **size
    )


def _themed(chart: Any) -> alt.TopLevelMixin:
    """In the report's clothes."""
    dressed: alt.TopLevelMixin = chart.configure(**theme.config())
    return dressed


def messages(*runs: Path) -> pl.DataFrame:
    """A row a message that arrived, as `write_csv` writes it."""
    tables = [table for run in runs for table in _tables(read(run), _warned)]
    return pl.concat(tables) if tables else pl.DataFrame(schema=COLUMNS)


def _warned(damaged: StoreError) -> None:
    warnings.warn(f"left out: {damaged}", stacklevel=3)


def write_csv(run: Path, out: TextIO, missed: Missed = _warned) -> int:
    """Every message of a run that arrived, as CSV; answers how many there are.

    `middleware` is the transport, `plugin` the codec (`numpy`, on a GPU `torch_gpu`), `count` the message's number,
    `timestamp` when it was due (sent, where nothing was due) in seconds of the machine's monotonic clock, and `delay`
    the seconds until it was whole at the receiver. Messages that were lost have no row. Trials whose samples are
    damaged have none either: `missed` is told of each, and warns where it is not given.
    """
    many, header = 0, True
    for table in _tables(read(run), missed):
        out.write(table.write_csv(include_header=header))
        many, header = many + len(table), False
    if header:
        out.write(pl.DataFrame(schema=COLUMNS).write_csv())
    return many


def _tables(run: Run, missed: Missed) -> Iterator[pl.DataFrame]:
    for row in run.measured:
        for part in delivered(row, missed):
            yield _table(row, part)


def _table(row: Row, part: Delivered) -> pl.DataFrame:
    times = {"timestamp": part.start_ns / 1e9, "count": part.seq, "delay": part.took_ns / 1e9}
    same = {
        "middleware": row["transport"],
        "plugin": _plugin(row),
        "language": row["language"],
        "cell": row.id,
        "trial": part.trial,
        "flow": part.flow,
    }
    table = pl.DataFrame(times).with_columns(**{name: pl.lit(value) for name, value in same.items()})
    return table.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def _plugin(row: Row) -> str:
    place = row.cell.axes.place
    return "_".join([str(row["codec"] or "none"), *(place if place != ("cpu",) else ())])


def _listed(runs: Sequence[Path]) -> str:
    return ", ".join(map(str, runs)) or "no run was named"
