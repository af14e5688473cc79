"""The table of a whole workload: missed deadlines, worst p99, CPU and loss of each transport."""

from __future__ import annotations

from dataclasses import replace

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.tables import row_values
from hopmeter.report.tables.model import Column, Line, Table, Value, notes
from hopmeter.report.words import conditions, formatting
from hopmeter.report.words.company_words import background_sentence
from hopmeter.report.words.host_words import hosts_sentence
from hopmeter.report.words.workload_words import (
    behind_text,
    missed_share,
    part_missed_text,
    share_bracket,
    share_percent,
)

COLUMNS = (
    row_values.RANK,
    row_values.TRANSPORT,
    replace(row_values.LANGUAGE, least=3),
    Column("Missed deadlines", "number", "95 % interval", short="missed deadlines", key="missed_deadlines"),
    Column("Worst p99", "number", "times the lowest", short="worst p99", key="worst_p99_ratio"),
    Column("CPU", "number", "% of a core", short="CPU %", key="cpu_core_percent"),
    row_values.LOSS,
    Column("Decided by", "text", short="decided by", key="decided_by", least=4),
    row_values.STATUS,
    row_values.TRIALS,
)
DECIDED_BY = {"deadlines": "deadlines", "p99": "worst p99", "cpu": "CPU"}
CAPTION = (
    "Missed deadlines: the share of the messages of all flows and paths with a deadline. Worst p99: the largest ratio "
    "of a flow's p99 to the lowest p99 of any transport for the same flow, and that flow. CPU: of all participants "
    "together. Transports are ranked by missed deadlines; if these do not differ significantly, by the worst p99, and "
    "then by CPU."
)


def table(group: Group) -> Table:
    """Return the table of a whole workload."""
    return Table(
        conditions.title(group),
        COLUMNS,
        row_values.bodies(group, lambda row: _line(group, row), "References"),
        " ".join(filter(None, [CAPTION, hosts_sentence(group.rows), background_sentence(group.rows)])),
        "ranking",
        chips=conditions.chips(group),
        hints=row_values.hints(group, group.rows),
    )


def _line(group: Group, row: Row) -> Line:
    loss = row_values.loss_value(row)
    values = [
        _rank(row),
        row_values.name_value(group, row),
        Value(str(row["language"]), sort=row["language"]),
        _missed_share(row),
        _worst(row),
        row_values.amount_value(*(row.get(f"cpu_core_percent{end}") for end in ("", "_low", "_high"))),
        replace(loss, style="missed" if row.loss else ""),
        Value(DECIDED_BY.get(str(row["decided_by"]), ""), sort=row["decided_by"]),
        row_values.status_value(row),
        row_values.trials_value(row),
    ]
    return Line(values, row_values.line_style(row), row_values.remarks(row, part_missed_text(row), behind_text(row)))


def _rank(row: Row) -> Value:
    """Return a row's rank as a table cell, such as `1` or `1–3`. The cell is empty if the row has no rank."""
    low, high = row["rank_low"], row["rank_high"]
    text = "" if low is None else str(low) if low == high else f"{low}–{high}"
    return Value(text, sort=low, data=text)


def _missed_share(row: Row) -> Value:
    """Return the share of missed deadlines, shown in red if any deadline was missed."""
    share, low, high = missed_share(row)
    if share is None:
        return Value(formatting.NOTHING)
    bracket, style = share_bracket(low, high), "missed" if row["missed"] else ""
    return Value(share_percent(share), notes(bracket.strip("()")), share, style, inline=bracket, ends=(low, high))


def _worst(row: Row) -> Value:
    ratio, flow = row["worst_p99_ratio"], str(row["worst_flow"])
    if ratio is None:
        return Value(formatting.NOTHING)
    if ratio == 1:
        return Value(formatting.times(ratio), notes("lowest in every flow"), ratio)
    ends = (row["worst_p99_ratio_low"], row["worst_p99_ratio_high"])
    inline = f"{formatting.ratio_bracket(*ends)} {flow}"
    return Value(
        formatting.times(ratio), notes(formatting.ratio_interval(*ends), flow), ratio, inline=inline, ends=ends
    )
