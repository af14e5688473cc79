"""The table of a group, with its rows ranked by latency."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.row_order import Rank, ranks
from hopmeter.analysis.results.run_results import Row
from hopmeter.messages import split_code
from hopmeter.model.columns import unit
from hopmeter.report.tables import row_values
from hopmeter.report.tables.model import Column, Line, Table, Value, notes
from hopmeter.report.tables.row_values import amount_value, ratio_value
from hopmeter.report.words import conditions, formatting
from hopmeter.report.words.company_words import background_sentence
from hopmeter.report.words.host_words import hosts_sentence
from hopmeter.report.words.workload_words import growth_text, is_part, missed_text

LATENCIES = {
    "first_message": "First message: from the start of the first program to the first arrival at the last receiver.",
    "recovery": "Recovery: from the start of the new process to the next arrival at the last receiver.",
    "response": "Response: from the time a message is due to its arrival.",
    "roundtrip": "Round trip: from sending a message to receiving its reply; not halved.",
    "gather": "Gather: from sending the first request of a message to receiving the last server's reply.",
    "service": "Service: from sending a message to its arrival.",
    "reaction": "Reaction: from the time a message of the first flow is due to the first arrival that it caused.",
}
UNRESOLVED = "too few"
"""The text that a page shows if there are too few messages for a percentile."""
SAMPLED = "cpu_percent_mean"


@dataclass(frozen=True)
class Context:
    """A group, with the derived values that are needed to format the group's rows."""

    group: Group

    @cached_property
    def ranks(self) -> dict[int, Rank]:
        """The rank of each ranked row, by `id` of the row object."""
        return {id(rank.row): rank for rank in ranks(self.group)}

    @cached_property
    def places(self) -> dict[int, int]:
        """The position of each row in the group, by `id` of the row object."""
        return {id(row): place for place, row in enumerate(self.group.rows, 1)}

    @cached_property
    def longest(self) -> float:
        """The largest multiple of the floor, which is drawn as the longest bar."""
        return max((row["times_floor"] or 0 for row in self.group.measured_rows), default=0)


@dataclass(frozen=True)
class Part:
    """A table column, with a function that returns the column's values and a predicate that selects the groups with the
    column."""

    column: Column
    value: Callable[[Context, Row], Value]
    applies: Callable[[Group], bool] = lambda _: True


def _any(column: str) -> Callable[[Group], bool]:
    return lambda group: any(row.get(column) is not None for row in group.rows)


def table(group: Group) -> Table:
    """Return the table of a group: choices and references sorted by latency, then the rows without a latency."""
    context, parts = Context(group), _parts(group)
    return Table(
        conditions.title(group),
        [part.column for part in parts],
        row_values.bodies(group, lambda row: _line(context, row, parts)),
        _caption(group),
        "ranking",
        chips=conditions.chips(group),
        hints=row_values.hints(group, group.rows),
    )


def _parts(group: Group) -> list[Part]:
    return [part for part in (*BEFORE, *map(_scenario_part, _scenario_columns(group)), *AFTER) if part.applies(group)]


def _line(context: Context, row: Row, parts: Iterable[Part]) -> Line:
    behind = f"the reader falls behind by {growth_text(row)}" if row["backlog_ms_per_s"] else ""
    empty_hop = formatting.empty_hop(row["empty_hop_us"]) if row["status"] == "ok" else ""
    early = "stopped early" if row["stopped_early"] else ""
    values = [part.value(context, row) for part in parts]
    return Line(
        values if row["status"] == "ok" else [_without_result(value) for value in values],
        row_values.line_style(row),
        row_values.remarks(row, early, behind, empty_hop, _not_recovered(row)),
    )


def _not_recovered(row: Row) -> str:
    """Return the warning that some trials of a row did not recover from a restart, or an empty string if all did."""
    said = [split_code(text) for text in row["warnings"] or ()]
    return next((words for words, code in said if code == "W-NOT-RECOVERED"), "")


def _without_result(value: Value) -> Value:
    """For a row without a result, return a copy of the value that terminals omit. A page still shows the latency of a
    saturated row."""
    return replace(value, short="", inline="") if value.inline or value.line_text == formatting.NOTHING else value


def _caption(group: Group) -> str:
    words = [LATENCIES[name] for name in formatting.distinct(row.headline for row in group.measured_rows)]
    is_explained = any(row["empty_hop_us"] is not None for row in group.measured_rows)
    explained = [formatting.EMPTY_HOP] if is_explained else []
    # the table of the whole workload already names the hosts, so the tables of its flows and paths do not
    hosts = "" if is_part(group) else hosts_sentence(group.measured_rows)
    return " ".join(filter(None, [*words, *explained, hosts, background_sentence(group.measured_rows)]))


def _rank(context: Context, row: Row) -> Value:
    rank = context.ranks.get(id(row))
    text = rank.text if rank else ""
    return Value(text, sort=context.places[id(row)], data=text)


def _name(context: Context, row: Row) -> Value:
    return row_values.name_value(context.group, row, _ties(context.group, context.ranks.get(id(row))))


def _ties(group: Group, rank: Rank | None) -> str:
    """Return a phrase that lists the rows which do not differ significantly from the given row. Return an empty string
    if the row has no interval."""
    if rank is None or rank.best is None or not rank.ties:
        return ""
    names = [group.label(other) for other in rank.ties]
    return f"ties with {formatting.join(names) if len(names) <= 3 else formatting.plural(len(names), 'other')}"


def _percentile(name: str) -> Callable[[Context, Row], Value]:
    """Return a function that formats a percentile. A tail percentile without an interval is hidden, because readers may
    take it for a reliable result."""

    def value(_: Context, row: Row) -> Value:
        found = row.p50 if name == "p50" else row.tail(name)
        if found is not None:
            return amount_value(found, *row.interval(name))
        if row.state(name) == "lost":
            return Value(formatting.LOST, notes(f"{formatting.percent(row.loss)} never arrived"), style="open")
        is_short = name != "p50" and row.p50 is not None
        return Value(UNRESOLVED if is_short else formatting.NOTHING, style="open" * is_short, short=formatting.NOTHING)

    return value


def _times_best(_: Context, row: Row) -> Value:
    return _ratio(row, "ratio_to_best") if row.ok else Value(formatting.NOTHING)


def _times_floor(context: Context, row: Row) -> Value:
    """Return the median as a multiple of the floor's median. A saturated row gets no multiple of the floor."""
    if not row.ok:
        return Value(formatting.NOTHING)
    value, bar = _ratio(row, "times_floor"), row["times_floor"]
    return replace(value, bar=100 * bar / context.longest if bar and context.longest else None, inline="")


def _ratio(row: Row, column: str) -> Value:
    return ratio_value(*(row.get(f"{column}{end}") for end in ("", "_low", "_high")))


def _alone(_: Context, row: Row) -> Value:
    return _ratio(row, "times_alone")


def _cpu_time(_: Context, row: Row) -> Value:
    return Value(formatting.number(row["cpu_us_per_message"]), sort=row["cpu_us_per_message"])


def _core_share(column: str, word: str = "") -> Callable[[Context, Row], Value]:
    """Return a function that formats CPU as a percentage of one core."""

    def value(_: Context, row: Row) -> Value:
        percent = row.get(column)
        below = "" if percent is None else f"{word}{formatting.percent(percent / 100)}"
        return Value(formatting.number(percent), sort=percent, below=below)

    return value


def _missed_value(_: Context, row: Row) -> Value:
    """Return the share of missed deadlines as a table cell, which is empty if the row has no deadline."""
    share, bracket, interval = missed_text(row).partition(" (")
    ends = (row["missed_share_low"], row["missed_share_high"])
    style = "missed" if row["missed"] else ""
    return Value(
        share,
        notes(interval.rstrip(")")),
        row["missed_share"],
        style,
        inline=f"({interval}" if bracket else "",
        ends=ends,
    )


def _scenario_columns(group: Group) -> list[str]:
    """Return the columns that the scenario requests and that the table does not show yet."""
    shown = {name for part in (*BEFORE, *AFTER) for name in (part.column.key, *ELSEWHERE)}
    medians = {f"{row.headline}_p50_us" for row in group.rows}
    wanted = formatting.distinct(name for row in group.rows for name in row.run.about.get("columns") or [])
    return [name for name in wanted if name not in shown | medians and _any(name)(group)]


def _scenario_part(column: str) -> Part:
    title, its_unit = _title(column)
    return Part(
        Column(title, "number", its_unit, key=column, short=_two_lines(title, its_unit)),
        lambda _, row: Value(_text(row.get(column)), sort=row.get(column)),
    )


def _title(column: str) -> tuple[str, str]:
    """Return the title and the unit of a column. For example, `chain_per_hop_p50_us` becomes `hop p50` in µs."""
    name, its_unit = unit(column.removeprefix("chain_per_"))
    return name.replace("_", " "), its_unit


def _two_lines(title: str, its_unit: str) -> str:
    first, _, rest = title.partition(" ")
    return f"{first}\n{' '.join(filter(None, (rest, its_unit)))}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "/".join(map(_text, value))
    return formatting.number(value) if isinstance(value, int | float) else str(value or formatting.NOTHING)


ELSEWHERE = ("response_p50_us", "response_p99_us", "lost", SAMPLED)
"""Result columns that each table shows under another name."""


def _has_ratios(group: Group) -> bool:
    return any(row["ratio_to_best"] is not None for row in group.rows)


def _has_floor(group: Group) -> bool:
    """Return whether the table shows each median as a multiple of the floor's median. These multiples are omitted for
    parts of a workload, for first messages and recoveries, and if the floor itself is the best row."""
    best_is_floor = any(row.is_floor and row["ratio_to_best"] == 1 for row in group.rows)
    return not group.measures_moments and not is_part(group) and not best_is_floor


def _has_cpu(group: Group) -> bool:
    """Return whether each row has a CPU value. A single flow of a workload has no CPU value, because a process may
    carry several flows."""
    return not is_part(group) and not group.measures_moments


def _has_many_messages(group: Group) -> bool:
    """Return whether each trial measured many messages. For a single time per trial, high percentiles and the share of
    lost messages are meaningless."""
    return not group.measures_moments


INTERVAL = "95 % interval"
BEFORE = (
    Part(row_values.RANK, _rank),
    Part(row_values.TRANSPORT, _name),
    Part(row_values.LANGUAGE, lambda _, row: Value(str(row["language"]), sort=row["language"])),
    Part(Column("p50, µs", "number", INTERVAL, short="p50 µs (95 %)", key="p50_us"), _percentile("p50")),
    Part(
        Column("p99, µs", "number", INTERVAL, short="p99 µs (95 %)", key="p99_us"),
        _percentile("p99"),
        _has_many_messages,
    ),
    Part(
        Column("p99.9, µs", "number", INTERVAL, short="p99.9 µs (95 %)", key="p999_us", least=1, optional=True),
        _percentile("p999"),
        _has_many_messages,
    ),
    Part(
        Column("Times best", "number", INTERVAL, short="×best (95 %)", key="ratio_to_best", least=6),
        _times_best,
        _has_ratios,
    ),
    Part(Column("Times floor", "bar", INTERVAL, short="×floor", key="times_floor", least=5), _times_floor, _has_floor),
    Part(
        Column("CPU, µs", "number", "% of a core", short="CPU µs", key="cpu_us_per_message", least=4),
        _cpu_time,
        _has_cpu,
    ),
    Part(
        Column("CPU", "number", "% of a core", short="CPU %", key="cpu_core_percent", place="below", least=7),
        _core_share("cpu_core_percent"),
        _has_cpu,
    ),
    Part(
        Column("CPU", "number", "% of a core", short="CPU %\nsampled", key=SAMPLED, place="below"),
        _core_share(SAMPLED, "sampled "),
        _any(SAMPLED),
    ),
)
AFTER = (
    Part(
        Column("Missed", "number", INTERVAL, short="missed %\n(95 %)", key="missed_share"),
        _missed_value,
        _any("missed_share"),
    ),
    Part(
        Column("Times alone", "number", INTERVAL, short="×alone\n(95 %)", key="times_alone"),
        _alone,
        _any("times_alone"),
    ),
    Part(row_values.LOSS, lambda _, row: row_values.loss_value(row), _has_many_messages),
    Part(row_values.STATUS, lambda _, row: row_values.status_value(row)),
    Part(row_values.TRIALS, lambda _, row: row_values.trials_value(row)),
)
