"""The table of repeated searches: each transport's rank and highest rate, and what limited the rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.groups import CONDITIONS, Group
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.plan.search import FLOOD
from hopmeter.report.tables import row_values
from hopmeter.report.tables.model import Column, Line, Table, Value
from hopmeter.report.tables.ranking import INTERVAL
from hopmeter.report.words import conditions, formatting

COLUMNS = (
    row_values.RANK,
    row_values.TRANSPORT,
    row_values.LANGUAGE,
    Column("Messages/s", "number", INTERVAL, short="messages/s (95 %)", key="throughput_hz"),
    Column("MB/s", "number", short="MB/s", key="throughput_mb_s"),
    Column("Best ÷ this", "number", INTERVAL, short="best÷this (95 %)", key="ratio_to_best", least=6),
    Column("Limited by", "which", short="limited by", key="throughput_limit", least=5),
    Column("CPU", "number", "% of a core, source", short="CPU %\nsource", key="throughput_source_cpu_percent", least=4),
    Column("CPU", "number", "% of a core, sink", short="CPU %\nsink", key="throughput_sink_cpu_percent", least=3),
    Column("Confirmed", short="confirmed by", key="acknowledged_by", least=7),
    Column("Flood", "number", "messages/s that arrived", short="flood/s", key="flood_hz", least=2),
    Column("Lost in flood", "number", short="lost in\nflood", key="flood_lost_share", least=1),
    row_values.STATUS,
)
LIMITS = {
    "loss": "lost messages",
    "source": "sending",
    "queue": "a growing queue",
    "latency": "the latency limit",
    "cpu": "the CPU limit",
    "failure": "failed trials",
}
"""The words for the values of `throughput_limit`."""
CAPTION = (
    "Messages/s: the highest rate at which the source did not fall behind, every message arrived and no queue grew: "
    "the geometric mean over the rounds. MB/s: payload only, 10⁶ bytes. Best ÷ this: the highest rate of the best "
    "transport divided by the rate of the row. Limited by: why higher rates failed, with the CPU of the source's and "
    "the sink's process at these rates. Confirmed: who confirms each message to its sender, if anybody does. Flood: "
    "the messages per second that arrived while the source sent as fast as the transport accepted messages; other "
    "tools report this rate, with full queues and lost messages."
)
SPELLED_OUT = 5


def throughput_groups(runs: Sequence[Run]) -> list[Group]:
    """Return the repeated searches of all runs, grouped by conditions and machine, with the highest rate of a group
    first."""
    machines = machine_names.names(runs)
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for run in runs:
        for row in run.measured_rows:
            if row.cell.comparison.search_round == FLOOD:
                key = tuple(row.get(name) for name in CONDITIONS)
                alike.setdefault((*key, machines.get(id(run), "")), []).append(row)
    varied = tuple(name for at, name in enumerate(CONDITIONS) if len({key[at] for key in alike}) > 1)
    return [
        Group(dict(zip(CONDITIONS, key, strict=False)), tuple(sorted(rows, key=_order)), varied=varied, machine=key[-1])
        for key, rows in sorted(alike.items(), key=lambda each: each[1][0]["payload_bytes"] or 0)
    ]


def _order(row: Row) -> float:
    return -(row["throughput_hz"] or -math.inf)


def throughput_tables(runs: Sequence[Run]) -> list[Table]:
    """Return a table for each group of repeated searches."""
    return [_table(group) for group in throughput_groups(runs)]


def _table(group: Group) -> Table:
    return Table(
        f"Throughput, {title(group)}",
        COLUMNS,
        row_values.bodies(group, lambda row: _line(group, row), "References"),
        CAPTION,
        "ranking",
        sentences=[sentence(group)],
        chips=[chip for chip in conditions.chips(group) if chip not in title(group)],
    )


def title(group: Group) -> str:
    """Return the payload of the group, and the conditions in which the group differs from other groups."""
    payload = formatting.payload_bytes(group.conditions["payload_bytes"] or 0)
    return ", ".join([payload, *conditions.variations(group), *filter(None, [group.machine])])


def _line(group: Group, row: Row) -> Line:
    limit = LIMITS.get(str(row["throughput_limit"]), "")
    lost = row["flood_lost_share"]
    values = [
        Value(_rank_text(group, row), sort=row["rank_low"], data=_rank_text(group, row)),
        row_values.name_value(group, row),
        Value(str(row["language"]), sort=row["language"]),
        row_values.amount_value(row["throughput_hz"], row["throughput_low_hz"], row["throughput_high_hz"]),
        _number(row["throughput_mb_s"]),
        row_values.ratio_value(*(row.get(f"ratio_to_best{end}") for end in ("", "_low", "_high"))),
        Value(limit, sort=row["throughput_limit"]),
        _number(row["throughput_source_cpu_percent"]),
        _number(row["throughput_sink_cpu_percent"]),
        Value(_confirmation(row), sort=row["acknowledged_by"]),
        _number(row["flood_hz"]),
        Value(formatting.percent(lost), sort=lost),
        row_values.status_value(row),
    ]
    if row["status"] != "ok":
        values = [replace(value, short="", inline="") if value.is_empty else value for value in values]
    return Line(values, row_values.line_style(row), row_values.remarks(row))


def _rank_text(group: Group, row: Row) -> str:
    low, high = row["rank_low"], row["rank_high"]
    if low is None or len(group.choices) < 2:
        return ""
    return str(low) if low == high else f"{low}–{high}"


def _confirmation(row: Row) -> str:
    """Return the party that confirms each message to its sender, or an empty string if messages are not confirmed."""
    return str(row["acknowledged_by"] or "").replace("none", "")


def _number(value: float | None) -> Value:
    return Value(formatting.number(value), sort=value)


def sentence(group: Group) -> str:
    """Return the answer of a group: the transports with the highest rates."""
    found = [row for row in group.choices if row["throughput_hz"]]
    if not found:
        return f"For {title(group)}, no search found a rate that a transport keeps up with."
    best = [row for row in found if row["rank_low"] == 1] or found[:1]
    named = formatting.join(formatting.first([_rate_words(group, row) for row in best], SPELLED_OUT))
    if len(best) == 1:
        return f"For {title(group)}, {named} is the highest rate that a transport keeps up with."
    return f"For {title(group)}, the highest rates do not differ significantly: {named}."


def _rate_words(group: Group, row: Row) -> str:
    rate, mb_s = formatting.number(row["throughput_hz"]), formatting.number(row["throughput_mb_s"])
    return f"{group.label(row)} with {rate} messages/s ({mb_s} MB/s)"


def sentences(runs: Iterable[Run]) -> list[str]:
    """Return the answer of each group of repeated searches."""
    return [sentence(group) for group in throughput_groups(list(runs))]
