"""Functions for notebooks and scripts: a table of all messages that arrived in a run, and box plots of latencies."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import altair as alt
import polars as pl

from hopmeter.analysis.results.groups import Group, families, groups
from hopmeter.analysis.results.message_samples import Delivered, OnDamage, delivered_messages
from hopmeter.analysis.results.run_results import Row, Run, read
from hopmeter.errors import UsageError
from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import Style
from hopmeter.report.figures import codec_boxes
from hopmeter.report.words import codec_rows
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
    "pair": pl.Int64,
}
"""The columns of the message table. The first five columns are the columns of the published study of native objects."""
TITLE: dict[str, Any] = {"anchor": "start", "fontSize": 12.0, "fontWeight": "normal", "color": theme.SOFT}


def boxes(*runs: Path) -> alt.TopLevelMixin:
    """Draw a notched box for each codec, transport and language of the given runs, on a logarithmic axis in ms.

    Groups that are not comparable get separate charts, one below the other. Raises UsageError if no cell has a latency.
    """
    found = [read(run) for run in runs]
    style = Style.of(found)
    charts = [
        _chart(family, style) for family in families(groups(found), codec_rows.FREE) if codec_rows.placed_rows(family)
    ]
    if not charts:
        raise UsageError(
            "E-NO-MESSAGES", f"{_run_names(runs)}: no cell has a latency", "`hopmeter show RUN` shows the reasons"
        )
    return _apply_theme(charts[0] if len(charts) == 1 else alt.vconcat(*charts).resolve_scale(color="independent"))


def _chart(family: Sequence[Group], style: Style) -> alt.LayerChart | alt.FacetChart:
    placed = codec_rows.placed_rows(family)
    size = {"width": theme.WIDTH, "height": codec_rows.height(placed)}
    return codec_boxes.layers(placed, style).properties(
        title=alt.Title(textwrap.wrap(codec_rows.common_conditions(family), 84), **TITLE), **size
    )


def _apply_theme(chart: Any) -> alt.TopLevelMixin:
    themed: alt.TopLevelMixin = chart.configure(**theme.config())
    return themed


def messages(*runs: Path) -> pl.DataFrame:
    """Return a table with a row for each message that arrived, in the columns of `write_csv`."""
    tables = [table for run in runs for table in _tables(read(run), _warn)]
    return pl.concat(tables) if tables else pl.DataFrame(schema=COLUMNS)


def _warn(damaged: StoreError) -> None:
    warnings.warn(f"left out: {damaged}", stacklevel=3)


def write_csv(run: Path, out: TextIO, on_damage: OnDamage = _warn) -> int:
    """Write a CSV row for each message that arrived in the run, and return the number of rows.

    `middleware` is the transport, `plugin` is the codec, and `count` is the message number. On a GPU, the codec is
    followed by the device, as in `torch_gpu`. `timestamp` is the time at which the message was due, in seconds of the
    monotonic clock. If the pace has no schedule, `timestamp` is the time at which the message was sent. `delay` is the
    time in seconds until the receiver had the complete message. A lost message has no row. Trials with damaged samples
    are left out. For each damaged trial, `on_damage` is called with the error; the default `on_damage` warns.
    """
    many, header = 0, True
    for table in _tables(read(run), on_damage):
        out.write(table.write_csv(include_header=header))
        many, header = many + len(table), False
    if header:
        out.write(pl.DataFrame(schema=COLUMNS).write_csv())
    return many


def _tables(run: Run, on_damage: OnDamage) -> Iterator[pl.DataFrame]:
    for row in run.measured_rows:
        if row.cell.workload is not None and not row.cell.flow:
            continue  # the rows of the workload's flows already list these messages
        for part in delivered_messages(row, on_damage):
            yield _table(row, part)


def _table(row: Row, part: Delivered) -> pl.DataFrame:
    times = {"timestamp": part.start_ns / 1e9, "count": part.seq, "delay": part.took_ns / 1e9}
    same = {
        "middleware": row["transport"],
        "plugin": _plugin(row),
        "language": row["language"],
        "cell": row.id,
        "trial": part.trial,
        "pair": part.pair,
    }
    table = pl.DataFrame(times).with_columns(**{name: pl.lit(value) for name, value in same.items()})
    return table.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def _plugin(row: Row) -> str:
    place = row.cell.axes.place
    return "_".join([str(row["codec"] or "none"), *(place if place != ("cpu",) else ())])


def _run_names(runs: Sequence[Path]) -> str:
    return ", ".join(map(str, runs)) or "no run was named"
