"""The section of a whole workload: deadlines kept, the worst p99 of a flow, CPU and loss of each transport."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.messages import split_code
from hopmeter.model.requirement_verdict import unmet
from hopmeter.report import conditions, formatting, process_table
from hopmeter.report.company_words import background_sentence
from hopmeter.report.host_words import hosts_sentence
from hopmeter.report.requirement_sentences import order_by_requirements
from hopmeter.report.section import Body, Column, Line, Section, Table, Value, notes
from hopmeter.report.workload_answer import answer_sentences, undecided_sentences
from hopmeter.report.workload_words import behind_text, kept_bracket, kept_percent, kept_share, part_missed_text

if TYPE_CHECKING:  # the terminal does without the time that it takes
    from hopmeter.report.drawing import Figure

COLUMNS = (
    Column("Rank", "number place"),
    Column("Transport", "name", heads=True),
    Column("Deadlines kept", "number", "95 % interval"),
    Column("Worst p99", "number", "times the lowest"),
    Column("CPU", "number", "% of a core"),
    Column("Loss", "number"),
    Column("Decided by", "text"),
    Column("Status", "status"),
)
DECIDED_BY = {"deadlines": "deadlines", "p99": "worst p99", "cpu": "CPU"}
CAPTION = (
    "Deadlines kept: of all messages of flows and paths with a deadline. Worst p99: the flow whose p99 is the most "
    "times that of the best transport for this flow. CPU: of all participants together. The deadlines rank; the worst "
    "p99 ranks transports that keep the deadlines alike, and CPU those that are alike in both."
)
LONGEST_REASON = 140


def section(group: Group, figures: Sequence[Figure], in_answer: bool = False) -> Section:
    """Return the section of a whole workload."""
    title = conditions.title(group)
    bodies = [Body([line(group, row) for row in order_by_requirements(group, group.choices)])]
    if group.references:
        apart = [line(group, row) for row in group.references]
        bodies.append(Body(apart, "References", "no library to install; for comparison only"))
    return Section(
        title,
        sentences=_sentences(group, in_answer),
        chips=conditions.chips(group),
        tables=[Table(title, COLUMNS, bodies, _caption(group), "ranking")],
        parts=process_table.sections(group),
        figures=figures,
        id=group.id,
        style="group",
        fold="open",
    )


def _caption(group: Group) -> str:
    return " ".join(filter(None, [CAPTION, hosts_sentence(group.rows), background_sentence(group.rows)]))


def _sentences(group: Group, in_answer: bool) -> list[str]:
    """Return the answer, unless the page's answer has it, and what is not decided; sides are not ranked."""
    if group.has_sides:
        return []
    return [*([] if in_answer else answer_sentences(group)), *undecided_sentences(group)]


def line(group: Group, row: Row) -> Line:
    """Return the row of one transport."""
    status, label = str(row["status"]), group.label(row)
    values = [
        Value(rank_text(row), sort=row["rank_low"]),
        Value(formatting.breakable(label), notes(_note(row)), label),
        _kept_value(row),
        _worst(row),
        Value(formatting.number(row["cpu_core_percent"]), notes(_cpu_interval(row)), sort=row["cpu_core_percent"]),
        Value(formatting.percent(row.loss), sort=row.loss, style="missed" if row.loss else ""),
        Value(DECIDED_BY.get(str(row["decided_by"]), ""), sort=row["decided_by"]),
        Value(status, sort=status),
    ]
    return Line(values, status if row.recommendable else f"{status} reference")


def rank_text(row: Row) -> str:
    """Return `1`, `1–3`, or empty for a row without a rank."""
    low, high = row["rank_low"], row["rank_high"]
    return "" if low is None else str(low) if low == high else f"{low}–{high}"


def _note(row: Row) -> str:
    is_ok, reason = row["status"] == "ok", split_code(str(row["reason"] or ""))[0]
    why = "" if is_ok else reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1].rstrip()}…"
    trials = f"{row['trials_good']} of {row['trials']} trials good" if row["trials_good"] != row["trials"] else ""
    role = "reference" if row["installable"] is False else ""
    return ", ".join(filter(None, [role, *unmet(row["require_each"]), trials, behind_text(row), why]))


def _kept_value(row: Row) -> Value:
    """Return the deadlines kept, red if any was missed, and where most were missed."""
    share, low, high = kept_share(row)
    if share is None:
        return Value(formatting.NOTHING)
    interval = kept_bracket(low, high).strip("()")
    return Value(kept_percent(share), notes(interval, part_missed_text(row)), share, "missed" if row["misses"] else "")


def _worst(row: Row) -> Value:
    ratio, flow = row["worst_p99_ratio"], row["worst_flow"]
    if ratio is None:
        return Value(formatting.NOTHING)
    if ratio == 1:
        return Value(formatting.times(ratio), notes("lowest in every flow"), ratio)
    ends = formatting.ratio_interval(row["worst_p99_ratio_low"], row["worst_p99_ratio_high"])
    return Value(formatting.times(ratio), notes(ends, str(flow)), ratio)


def _cpu_interval(row: Row) -> str:
    return formatting.interval(row["cpu_core_percent_low"], row["cpu_core_percent_high"])
