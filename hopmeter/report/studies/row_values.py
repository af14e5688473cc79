"""Measured values that correspond to published values, with their intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hopmeter.analysis.cost.process_use import sampled_percent
from hopmeter.analysis.latency.intervals import LEAST_TRIALS
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.words import formatting


@dataclass(frozen=True)
class Value:
    """A value with the two bounds of its interval. The fields `low` and `high` are None if there is no interval."""

    value: float
    low: float | None = None
    high: float | None = None


def row_value(row: Row, column: str) -> Value | None:
    """Return the value of a row in a result column or in a column that COMPUTED defines. Return None if the row has no
    valid value."""
    if column in COMPUTED:
        return COMPUTED[column](row)
    if column == f"{row.headline}_p50_us" and row["median_us"] is not None:
        column = "median_us"
    value = row.get(column)
    if row["status"] != "ok" or value is None:
        return None
    if column == "highest_rate_hz":
        return Value(value, value, row["lowest_failing_hz"])
    low, high = (row.get(_interval_end(column, end)) for end in ("low", "high"))
    return Value(value, low, high)


def is_unresolved(row: Row, column: str) -> bool:
    """Return whether a row was measured but has too few messages for the column's statistic."""
    if row["status"] != "ok" or row_value(row, column) is not None:
        return False
    if column.startswith("chain_per_hop"):
        return row["pattern"] != "scatter" and bool(row["service_count"] or row["roundtrip_count"])
    latency = "gather" if column == "gather_times_work" else column.partition("_")[0]
    return bool(row.get(f"{latency}_count"))


def why_unresolved(row: Row, column: str) -> str:
    """Return why a row has no value in a latency column: the row has too few messages, or the percentile falls on a
    lost message."""
    latency, _, statistic = column.removesuffix("_us").rpartition("_")
    is_lost = row.headline == latency and row.state(statistic) == "lost"
    return "lost messages" if is_lost else "too few messages"


def _interval_end(column: str, end: str) -> str:
    if column == "cpu_percent_mean":
        return f"cpu_percent_{end}"
    return f"{column.removesuffix('_us')}_{end}_us"


def _loss(row: Row) -> Value | None:
    """Return the share of messages that were lost. Both interval bounds equal the share, because lost messages are
    counted exactly."""
    return None if row.loss is None else Value(row.loss, row.loss, row.loss)


def _gather_times_work(row: Row) -> Value | None:
    """Return the time for which the client waits for all servers, divided by the servers' work. The servers' work is
    the longest work of any server or, if the client calls one server after another, the sum."""
    whole, ideal_s = row_value(row, "gather_p50_us"), row.cell.axes.ideal_s
    if whole is None or not ideal_s:
        return None
    low, high = _ends(row, whole)
    if low is None or high is None:
        return None
    ideal_us = ideal_s * 1e6
    return Value(whole.value / ideal_us, low / ideal_us, high / ideal_us)


def _ends(row: Row, whole: Value) -> tuple[float | None, float | None]:
    """Return the interval of the median waiting time. If there are too few messages for an interval, which happens if a
    trial sends fewer than twenty frames, return the smallest and the largest waiting time.
    """
    if whole.low is not None and whole.high is not None:
        return whole.low, whole.high
    return (row["gather_min_us"], row["gather_max_us"]) if (row["trials_good"] or 0) >= LEAST_TRIALS else (None, None)


def _cpu(row: Row, role: str) -> Value | None:
    """Return the CPU use of the process with the role `role` in percent, or None if the run did not sample CPU use."""
    percent = sampled_percent(row, role) if row.ok else None
    return None if percent is None else Value(percent)


def _waiting_sink(row: Row) -> Value | None:
    """Return the mean latency of the first sink that waits by blocking, or None if no sink blocks."""
    each, waits = row["sinks_service_mean_us"], row.cell.axes.waits
    mean_us = each[waits.index("block")] if row.ok and each and "block" in waits else None
    return None if mean_us is None else Value(mean_us)


COMPUTED: dict[str, Callable[[Row], Value | None]] = {
    "loss": _loss,
    "gather_times_work": _gather_times_work,
    "cpu_percent_source": lambda row: _cpu(row, "source"),
    "waiting_sink_mean_us": _waiting_sink,
    "cpu_percent_sink": lambda row: _cpu(row, "sink"),
}
"""Functions that compute values from several result columns."""


def with_unit(value: float | None, column: str) -> str:
    """Return a column value as text, with its unit."""
    if column == "loss":
        return formatting.percent(value)
    for ending, unit in (("_us", "µs"), ("_hz", "Hz")):
        if column.endswith(ending):
            return f"{formatting.number(value)}{formatting.THIN}{unit}"
    return f"{formatting.number(value)}{formatting.THIN}%" if "percent" in column else formatting.times(value)


def with_interval(found: Value, column: str) -> str:
    """Return a value with its unit and interval, such as `46.1 µs (44.0 to 48.3)`."""
    between = formatting.interval(found.low, found.high) if found.low != found.high else ""
    return with_unit(found.value, column) + (f" ({between})" if between else "")
