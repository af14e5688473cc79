"""A measured figure with its interval, whichever column a study's figure corresponds to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq

from hopmeter.analysis.percentiles import LEAST_TRIALS
from hopmeter.report import formatting
from hopmeter.report.source import Row


@dataclass(frozen=True)
class Value:
    """A figure and the ends of its interval; None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


def measured(row: Row, column: str) -> Value | None:
    """What a row has in a column of the results or in one of those below; None where it has nothing that counts."""
    if column in COMPUTED:
        return COMPUTED[column](row)
    value = row[column]
    if row["status"] != "ok" or value is None:
        return None
    if column == "highest_rate_hz":
        return Value(value, value, row["lowest_failing_hz"])
    low, high = (row[_bound(column, end)] for end in ("low", "high"))
    return Value(value, low, high)


def is_unresolved(row: Row, column: str) -> bool:
    """Whether a row was measured for the figure of a column, and has too few messages for this statistic of it."""
    if row["status"] != "ok" or measured(row, column) is not None:
        return False
    if column.startswith("chain_per_hop"):
        return row["pattern"] != "scatter" and bool(row["service_count"] or row["roundtrip_count"])
    figure = "gather" if column == "gather_times_work" else column.partition("_")[0]
    return bool(row[f"{figure}_count"])


def _bound(column: str, end: str) -> str:
    if column == "cpu_percent_mean":
        return f"cpu_percent_{end}"
    return f"{column.removesuffix('_us')}_{end}_us"


def _lost(row: Row) -> Value | None:
    """The share that was lost is counted, not estimated."""
    return None if row.loss is None else Value(row.loss, row.loss, row.loss)


def _gathered(row: Row) -> Value | None:
    """The time until all servers have answered, as a multiple of their work: the slowest's, or in turn the sum."""
    whole, ideal_s = measured(row, "gather_p50_us"), row.cell.axes.ideal_s
    if whole is None or not ideal_s:
        return None
    low, high = _ends(row, whole)
    if low is None or high is None:
        return None
    ideal_us = ideal_s * 1e6
    return Value(whole.value / ideal_us, low / ideal_us, high / ideal_us)


def _ends(row: Row, whole: Value) -> tuple[float | None, float | None]:
    """The median's interval; of several trials with too few messages each for one, the fastest and the slowest of all.

    A frame that takes seconds is not sent twenty times a trial, and nothing lies outside all that was measured.
    """
    if whole.low is not None and whole.high is not None:
        return whole.low, whole.high
    return (row["gather_min_us"], row["gather_max_us"]) if row["trials_good"] >= LEAST_TRIALS else (None, None)


def _process(row: Row, role: str) -> Value | None:
    """The CPU of the process of one role, in percent, sampled every second."""
    files = [row.run.folder / "cpu" / f"{row.id}-{trial['trial']}.parquet" for trial in row.trials if trial["good"]]
    sampled: list[dict[str, Any]] = [
        each for file in files if file.exists() for each in pq.read_table(file).to_pylist()
    ]
    percents = [each["percent"] for each in sampled if each["role"] == role]
    return Value(fmean(percents)) if percents and row.ok else None


def _waiting_sink(row: Row) -> Value | None:
    """The sink that blocks, of several that wait differently."""
    each, waits = row["sinks_service_mean_us"], row.cell.axes.waits
    return Value(each[waits.index("block")]) if row.ok and each and "block" in waits else None


COMPUTED: dict[str, Callable[[Row], Value | None]] = {
    "loss": _lost,
    "gather_times_work": _gathered,
    "cpu_percent_source": lambda row: _process(row, "source"),
    "waiting_sink_mean_us": _waiting_sink,
    "cpu_percent_sink": lambda row: _process(row, "sink"),
}
"""What no column holds by itself."""


def said(value: float | None, column: str) -> str:
    """A figure in its unit."""
    if column == "loss":
        return formatting.percent(value)
    for ending, unit in (("_us", "µs"), ("_hz", "Hz")):
        if column.endswith(ending):
            return f"{formatting.number(value)}{formatting.THIN}{unit}"
    return f"{formatting.number(value)}{formatting.THIN}%" if "percent" in column else formatting.times(value)


def with_interval(found: Value, column: str) -> str:
    """`46.1 µs (44.0 to 48.3)`."""
    between = formatting.interval(found.low, found.high) if found.low != found.high else ""
    return said(found.value, column) + (f" ({between})" if between else "")
