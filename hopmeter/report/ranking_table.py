"""The section of a group: its rows ranked by latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.row_order import Rank, ranks
from hopmeter.analysis.results.run_results import Row
from hopmeter.messages import split_code
from hopmeter.model.requirement_verdict import Verdict, unmet
from hopmeter.report import conditions, formatting, process_table, why_slow, workload_table
from hopmeter.report.company_words import background_sentence, company_sentences
from hopmeter.report.comparison_sentences import details, order_sentences, without_result
from hopmeter.report.host_words import hosts_sentence
from hopmeter.report.requirement_sentences import order_by_requirements, requirement_sentences
from hopmeter.report.section import Body, Column, Line, Section, Table, Value, notes
from hopmeter.report.warning_rules import setting_hints
from hopmeter.report.workload_answer import answer_sentences, undecided_sentences
from hopmeter.report.workload_words import growth_text, is_part, is_whole, missed_text

if TYPE_CHECKING:  # the terminal does without the time that it takes
    from hopmeter.report.drawing import Figure

LONGEST_REASON = 140
"""Characters of a reason that fit below a name."""
LATENCIES = {
    "response": "Response: from the time a message is due to its arrival.",
    "roundtrip": "Round trip: from sending a message to receiving its reply; not halved.",
    "gather": "Gather: from sending the first request of a message to receiving the last server's reply.",
    "service": "Service: from sending a message to its arrival.",
    "reaction": "Reaction: from the time a message of the first flow is due to the first arrival that it caused.",
}
COLUMNS = (
    Column("Rank", "number place"),
    Column("Transport", "name", heads=True),
    Column("p50, µs", "number", "95 % interval"),
    Column("p99, µs", "number", "95 % interval"),
    Column("p99.9, µs", "number", "95 % interval"),
    Column("Times best", "number", "95 % interval"),
    Column("Times floor", "bar", "95 % interval"),
    Column("CPU, µs", "number", "% of a core"),
    Column("Loss", "number"),
    Column("Status", "status"),
)
LATE = Column("Late", "number", "95 % interval")
"""The share of messages that missed a deadline, in tables of flows and paths that have one."""
ALONE = Column("Times alone", "number", "95 % interval")
"""The median alongside the other flows of a workload, as a multiple of that alone."""
TITLES = {
    Verdict.MEETS: "Meet the requirements",
    Verdict.UNDECIDED: "Undecided",
    Verdict.MISSES: "Miss the requirements",
}
UNRESOLVED = "too few"
"""Shown instead of a percentile."""


def section(group: Group, figures: Sequence[Figure], in_answer: bool = False) -> Section:
    """Return the table of a group: candidates and floors by latency, then the rows without one.

    A group whose first sentences are `in_answer` has only the further ones.
    """
    if is_whole(group):
        return workload_table.section(group, figures, in_answer)
    known = {id(rank.row): rank for rank in ranks(group)}
    longest = max((row["times_floor"] or 0 for row in group.measured_rows), default=0)
    lines = {
        id(row): _line(group, row, number, known.get(id(row)), longest) for number, row in enumerate(group.rows, 1)
    }
    bodies = [Body(body, title) for title, body in _bodies(group, lines)]
    if group.references:
        apart = [lines[id(row)] for row in group.references]
        bodies.append(Body(apart, "Floors and references", "no library to install; for comparison only"))
    title = conditions.title(group)
    return Section(
        title,
        sentences=[] if group.has_sides else answer_lines(group, in_answer),
        chips=conditions.chips(group),
        tables=[Table(title, _columns(group), bodies, _caption(group), "ranking")],
        parts=[*process_table.sections(group), *why_slow.sections(group)],
        figures=figures,
        id=group.id,
        style="group",
        fold="closed" if group.has_sides else "open",
    )


def answer_lines(group: Group, in_answer: bool = False) -> list[str]:
    """Return the answer of a table in sentences, most important first: the first one suffices.

    If there are requirements, the order is of less interest, so it gets one sentence. Sentences that the answer of the
    whole page has are left out if the table is `in_answer`.
    """
    if is_whole(group):
        return [*([] if in_answer else answer_sentences(group)), *undecided_sentences(group)]
    order, *more = order_sentences(group)
    order = f"{order[:1].upper()}{order[1:]}" if order.startswith(("the ", "there ", "no ")) else order
    needs = requirement_sentences(group)
    further = [*company_sentences(group), *(without_result(group) if needs else [*more, *details(group)])]
    return [*needs[1:], *further] if in_answer else [*needs, order, *further]


def _columns(group: Group) -> list[Column]:
    place = [column.title for column in COLUMNS].index("Loss") + 1
    late, alone = [LATE] if _has_deadline(group) else [], [ALONE] if _has_alone(group) else []
    every = [*COLUMNS[:place], *late, *alone, *COLUMNS[place:]]
    return [column for column in every if column.title not in _left_out(group)]


def _left_out(group: Group) -> tuple[str, ...]:
    """Return the columns that a table does not have. The processes of a workload carry several flows, so none of them
    has CPU of its own."""
    return ("Times floor", "CPU, µs") if is_part(group) else ()


def _has_deadline(group: Group) -> bool:
    return any(row["miss_share"] is not None for row in group.rows)


def _has_alone(group: Group) -> bool:
    return any(row["times_alone"] is not None for row in group.rows)


def _bodies(group: Group, lines: Mapping[int, Line]) -> list[tuple[str, list[Line]]]:
    """Return the rows to choose from; with requirements those that meet them first, under titles."""
    ordered = order_by_requirements(group, group.choices)
    titles = [TITLES[Verdict(row["require"])] if row["require"] else "" for row in ordered]
    return [
        (title, [lines[id(row)] for row, own in zip(ordered, titles, strict=True) if own == title])
        for title in dict.fromkeys(titles)
    ]


def _caption(group: Group) -> str:
    words = [LATENCIES[name] for name in formatting.distinct(row.headline for row in group.measured_rows)]
    is_explained = any(row["empty_hop_us"] is not None for row in group.measured_rows)
    explained = [formatting.EMPTY_HOP] if is_explained else []
    hosts = "" if is_part(group) else hosts_sentence(group.measured_rows)  # the table of the whole workload has it
    return " ".join(filter(None, [*words, *explained, hosts, background_sentence(group.measured_rows)]))


def _line(group: Group, row: Row, number: int, rank: Rank | None, longest: float) -> Line:
    floor = row["times_floor"] if row.ok else None  # a queue's latency is no multiple of the floor
    best = row["ratio_to_best"] if row.ok else None
    name, status = group.label(row), str(row["status"])
    values = {
        "Rank": Value(rank.text if rank else "", sort=number),
        "Transport": Value(formatting.breakable(name), notes(_ties(group, rank), _note(row, name)), name),
        "p50, µs": _median(row),
        "p99, µs": _tail(row, "p99"),
        "p99.9, µs": _tail(row, "p999"),
        "Times best": Value(formatting.times(best), notes(*_notes_of_ratio(row) if best else ""), sort=best),
        "Times floor": Value(
            formatting.times(floor),
            notes(_ends(row, "times_floor") if floor else ""),
            sort=floor,
            bar=100 * floor / longest if floor and longest else None,
        ),
        "CPU, µs": Value(
            formatting.number(row["cpu_us_per_message"]), notes(_core_share(row)), sort=row["cpu_us_per_message"]
        ),
        "Loss": Value(formatting.percent(row.loss), sort=row.loss),
        LATE.title: _late(row),
        ALONE.title: _alone(row),
        "Status": Value(status, sort=status),
    }
    values_shown = [values[column.title] for column in _columns(group)]
    return Line(values_shown, status if row.recommendable else f"{status} reference")


def _notes_of_ratio(row: Row) -> tuple[str, str]:
    """Return the interval of the ratio to the best, and whether an earlier look decided it."""
    return _ends(row, "ratio_to_best"), "stopped early" if row["stopped_early"] else ""


def _late(row: Row) -> Value:
    """Return the share of messages that missed their deadline; empty without a deadline."""
    share, _, interval = missed_text(row).partition(" (")
    return Value(share, notes(interval.rstrip(")")), row["miss_share"], "missed" if row["misses"] else "")


def _alone(row: Row) -> Value:
    return Value(formatting.times(row["times_alone"]), notes(_ends(row, "times_alone")), sort=row["times_alone"])


def _ends(row: Row, column: str) -> str:
    """Return the interval of a ratio; empty for the row that the others are divided by."""
    low, high = row.get(f"{column}_low"), row.get(f"{column}_high")
    return "" if low == high else formatting.ratio_interval(low, high)


def _core_share(row: Row) -> str:
    """Return `3.2 %, sampled 3.5 %`: CPU as a share of one core."""
    share, sampled = row["cpu_core_percent"], row["cpu_percent_mean"]
    words = ["" if share is None else formatting.percent(share / 100)]
    words += [] if sampled is None else [f"sampled {formatting.percent(sampled / 100)}"]
    return ", ".join(filter(None, words))


def _median(row: Row) -> Value:
    if row.p50 is None and row.state("p50") == "lost":
        return Value(formatting.LOST, notes(f"{formatting.percent(row.loss)} never arrived"), style="open")
    return Value(formatting.number(row.p50), notes(formatting.interval(*(row.bounds or (None, None)))), row.p50)


def _tail(row: Row, column: str) -> Value:
    value = row.tail(column)
    if row.state(column) == "lost":
        return Value(formatting.LOST, notes(f"{formatting.percent(row.loss)} never arrived"), style="open")
    if row.p50 is not None and value is None:
        return Value(UNRESOLVED, style="open")
    ends = formatting.interval(row.latency(f"{column}_low"), row.latency(f"{column}_high"))
    return Value(formatting.number(value), notes(ends), sort=value)


def _ties(group: Group, rank: Rank | None) -> str:
    """Return the rows that do not differ significantly; empty without an interval."""
    if rank is None or rank.best is None or not rank.ties:
        return ""
    names = [group.label(other) for other in rank.ties]
    return f"ties with {formatting.join(names) if len(names) <= 3 else formatting.plural(len(names), 'other')}"


def _note(row: Row, name: str) -> str:
    """Return the line below a name; the settings if the name does not have them."""
    good, all_trials = row["trials_good"], row["trials"]
    profile, is_ok = str(row["profile"] or ""), row["status"] == "ok"
    return ", ".join(
        formatting.distinct(
            [
                "" if profile in name else profile,
                _role(row),
                *unmet(row["require_each"]),
                f"{good} of {all_trials} trials good" if good != all_trials else "",
                formatting.empty_hop(row["empty_hop_us"]) if is_ok else "",
                f"its reader falls behind by {growth_text(row)}" if row["backlog_ms_per_s"] else "",
                "" if is_ok else _shorten(split_code(str(row["reason"] or ""))[0]),
                *(split_code(text)[0] for text, _ in setting_hints([row])),
            ]
        )
    )


def _role(row: Row) -> str:
    words = ["floor"] if row.is_floor and not row.recommendable else []
    words += ["reference"] if row["installable"] is False and not words else []
    return ", ".join([*words, *([] if row.candidate else ["not ranked"])])


def _shorten(reason: str) -> str:
    """Cut a long reason: *What was not measured* has all of it."""
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1].rstrip()}…"
