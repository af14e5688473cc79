"""Result directories of `hopmeter listen`, `publish` and `ask`: a CSV log with the study's columns, and
`by-hand.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.latency_columns import summary
from hopmeter.analysis.results.distributions import notch
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.report.drawing.charts import Figure, Style
from hopmeter.report.figures import codec_boxes
from hopmeter.report.sections import environment
from hopmeter.report.sections.section import Note, Section
from hopmeter.report.tables.model import Column, Line, Value, notes, table
from hopmeter.report.words import codec_rows, formatting
from hopmeter.store.disk import DamagedRunError
from hopmeter.store.run_folder import BY_HAND
from hopmeter.system.input_files import read_text
from hopmeter.system.untrusted_json import parse

LOGS = {"listener": "listener.csv", "publisher": "publisher.csv", "asker": "asker.csv"}
CAPTION = (
    "Box: the middle half of the messages. Notch: the approximate 95 % interval of the median, computed as if "
    "messages were independent. Whiskers: the messages within 1.5 box lengths of the box. Dots: a sample of the "
    "messages outside the whiskers, which includes the slowest."
)
TOO_FEW_MESSAGES = (
    "A percentile is not shown if fewer than ten messages are slower. A lost message counts as slower than all "
    "others; a percentile that falls on a lost message is shown as “lost”."
)
STATISTICS = {"p50": "p50, µs", "p90": "p90, µs", "p99": "p99, µs", "max": "Longest, µs", "mean": "Mean, µs"}
Delays = NDArray[np.int64]
"""The delay of each message in nanoseconds, in log order."""
Names = tuple[str, str]
"""The first two columns of a log: middleware and plugin, or server and transport."""


def are_by_hand(folders: Sequence[Path]) -> bool:
    """Return whether `hopmeter listen`, `publish` or `ask` wrote the given directories. Raises UsageError if one of
    these three commands wrote some, but not all, of the directories."""
    found = [participant(folder) != "" for folder in folders]
    if any(found) and not all(found):
        raise UsageError(
            "E-REPORT-MIXED",
            "a report cannot combine runs with results of programs that you started by hand",
            "write a separate report for each",
        )
    return any(found)


def participant(folder: Path) -> str:
    """Return the kind of program that wrote the directory: `listener`, `publisher` or `asker`. Return an empty string
    if another command wrote the directory."""
    if (folder / "run.json").exists():
        return ""
    return next((name for name, log in LOGS.items() if (folder / log).exists()), "")


def read(folder: Path) -> Run:
    """Return a directory's metadata as a run that has no rows. Raises StoreError if `by-hand.json` is damaged."""
    return Run(folder, _about(folder), [])


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = parse(read_text(folder / BY_HAND))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as cause:
        raise DamagedRunError(
            "E-FILE-DAMAGED",
            f"{folder / BY_HAND} is damaged: {cause}",
            "remove this file to write the report without it",
        ) from cause
    return about if isinstance(about, dict) else {}


def delays(log: Path, names: Names) -> dict[Names, Delays]:
    """Return the delays of a log, grouped by two columns. Raises StoreError if the log is damaged, and UsageError if
    the log is empty."""
    import polars as pl  # imported here because Polars is slow to load and other reports do not need it

    texts: dict[str, Any] = dict.fromkeys(names, pl.String)
    try:
        rows = pl.read_csv(log, schema_overrides={"delay": pl.Float64, **texts})
        rows = rows.drop_nulls("delay").with_columns(pl.col(*names).fill_null(""))
        parts = rows.partition_by(*names, as_dict=True, maintain_order=True)
        found = {key: (part["delay"] * 1e9).round().cast(pl.Int64).to_numpy() for key, part in parts.items()}
    except (OSError, pl.exceptions.PolarsError) as cause:
        raise DamagedRunError(
            "E-FILE-DAMAGED", f"{log} is damaged: {cause}", "restore it from a copy, or measure again"
        ) from cause
    if not found:
        raise UsageError("E-NO-MESSAGES", f"{log} contains no message", "measure again until messages have arrived")
    return {(str(first), str(second)): each for (first, second), each in found.items()}


def row(run: Run, transport: str, codec: str, pattern: str, known: Delays, lost: int) -> Row:
    """Return a result row with the statistics of the given delays, from which the report draws its figures. The
    statistics count each of the `lost` messages as slower than all received messages."""
    same: dict[str, Any] = {"placement": "process", "wait": "block", "cores": "free", "sinks": 1}
    bare: dict[str, Any] = {"payload": "array", "payload_bytes": 0, "touch": "none", "pace": "open", "relays": 0}
    names: dict[str, Any] = {"id": f"{transport}-{codec}", "transport": transport, "language": "python", "codec": codec}
    cell = Cell.of(**names, **same, **bare, pattern=pattern, rate_hz=run.about.get("rate"))
    low, high = notch(known / 1000, lost) or (None, None)
    ends = {"response_p50_low_us": low, "response_p50_high_us": high}
    return Row(run, cell, {"status": "ok", **summary("response", [[known]], [lost]), **ends})


def line(names: Names, one: Row, more: Sequence[Value]) -> Line:
    """Return a table row with a pair of names (such as middleware and plugin), the statistics and additional values."""
    return Line([*(Value(name, sort=name) for name in names), *(_statistic(one, each) for each in STATISTICS), *more])


def _statistic(one: Row, name: str) -> Value:
    return Value(formatting.LOST, style="open") if one.state(name) == "lost" else number(one.latency(name))


def number(value: float | None) -> Value:
    """Return a table cell that contains a statistic."""
    return Value(formatting.number(value), sort=value)


def count(value: float | None) -> Value:
    """Return a table cell that contains an integer."""
    return Value(formatting.count(value), sort=value)


def section(
    run: Run,
    title: str,
    details: str,
    caption: str,
    heads: tuple[Names, Sequence[str]],
    lines: Sequence[Line],
    figures: Sequence[Figure | None],
    warnings: Sequence[str],
) -> Section:
    """Return the report section of one command."""
    (first, second), more = heads
    columns = [Column(first, "name", heads=True), Column(second)]
    columns += [Column(head, "number") for head in (*STATISTICS.values(), *more)]
    return Section(
        title,
        sentences=[": ".join(notes(run.folder.name, details))],
        tables=[table(title, columns, lines, f"{caption} {TOO_FEW_MESSAGES}", "ranking")],
        notes=[Note(text) for text in warnings],
        figures=[figure for figure in figures if figure],
        commands=[environment.command(run)] if run.about.get("command") else [],
    )


def box_figure(run: Run, name: str, title: str, caption: str, boxes: Sequence[codec_rows.PlacedBox]) -> Figure | None:
    """Return a figure with notched boxes, or None if there are no boxes."""
    if not boxes:
        return None
    medians = ", ".join(f"{each.name} {formatting.microseconds(each.box.p50)}" for each in boxes)
    chart = codec_boxes.chart(boxes, Style.of([run]))
    return Figure(name, title, f"{caption} {CAPTION}", chart, f"Medians: {medians}")
