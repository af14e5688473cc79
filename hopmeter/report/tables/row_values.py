"""Values shared by several tables: row name, losses, trials, status and remarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hopmeter.analysis.results.groups import Group, name_in_table
from hopmeter.analysis.results.run_results import Row
from hopmeter.messages import split_code, tag, without_traceback
from hopmeter.model.requirement_verdict import Verdict, unmet
from hopmeter.model.row_role import Role
from hopmeter.report.answers.requirement_sentences import order_by_requirements
from hopmeter.report.tables.model import Body, Column, Line, Value, notes
from hopmeter.report.warnings.warning_rules import setting_hints
from hopmeter.report.words import formatting

LONGEST_REASON = 140
"""The maximum length of a reason in a table, in characters."""
RANK = Column("Rank", "number place", short="", key="rank")
TRANSPORT = Column("Transport", "name", heads=True, short="transport", key="transport")
LANGUAGE = Column("Language", short="language", key="language", place="heading")
LOSS = Column("Loss", "number", short="lost", key="loss")
STATUS = Column("Status", "status", key="status")
TRIALS = Column("Trials", "number", short="trials", key="trials", place="below", least=2)
TITLES = {
    Verdict.MEETS: "Meet the requirements",
    Verdict.UNDECIDED: "Undecided",
    Verdict.MISSES: "Miss the requirements",
}


def name_value(group: Group, row: Row, *further: str) -> Value:
    """Return the row heading. On a page, the heading includes hints on settings and the conditions that distinguish the
    row from other rows."""
    label = group.label(row)
    profile = str(row["profile"] or "")
    hints = [split_code(text)[0] for text, _ in setting_hints([row])]
    below = notes(*further, "" if profile in label else profile, *hints)
    return Value(formatting.breakable(label), below, label, short=name_in_table(row, group.rows))


def loss_value(row: Row) -> Value:
    """Return the share of messages that never arrived."""
    return Value(formatting.percent(row.loss), sort=row.loss)


def trials_value(row: Row) -> Value:
    """Return the number of good trials and the number of all trials."""
    text = f"{row['trials_good'] or 0}/{row['trials'] or 0}"
    return Value(text, sort=row["trials_good"], below=f"{text} trials", data=text)


def status_value(row: Row) -> Value:
    """Return the status of a row, such as `ok` or `failed`."""
    return Value(str(row["status"]), sort=row["status"])


def amount_value(value: float | None, low: float | None = None, high: float | None = None) -> Value:
    """Return a table cell that contains a number and its interval."""
    text, ends = formatting.number(value), formatting.interval(low, high)
    inline = "" if value is None else formatting.bracket(low, high)
    return Value(text, notes(ends), value, inline=inline, ends=(low, high))


def ratio_value(value: float | None, low: float | None = None, high: float | None = None) -> Value:
    """Return a table cell that contains a ratio and its interval. The base row has the ratio 1 and no interval."""
    if value is None:
        return Value(formatting.NOTHING)
    is_base = value == low == high or (value == 1 and low is None)
    ends = "" if is_base else formatting.ratio_interval(low, high)
    inline = "" if is_base else formatting.ratio_bracket(low, high)
    return Value(
        formatting.times(value), notes(ends), value, short=formatting.number(value), inline=inline, ends=(low, high)
    )


def line_style(row: Row) -> str:
    """Return the CSS classes of a row."""
    return str(row["status"]) if row.role is Role.CHOICE else f"{row['status']} reference"


def remarks(row: Row, *further: str) -> tuple[str, ...]:
    """Return the remarks on a row: the reason for a missing result, the verdict on the requirements, the role, and the
    texts in `further`."""
    return notes(_reason(row), verdict_text(row), "" if row.role is Role.CHOICE else row.role, *further)


def _reason(row: Row) -> str:
    """Return why a row has no result, without a traceback. A long reason is truncated; the section *What was not
    measured* has the full text."""
    if row["status"] == "ok":
        return ""
    words, code = split_code(without_traceback(str(row["reason"] or "")))
    words = words if len(words) <= LONGEST_REASON else f"{words[: LONGEST_REASON - 1].rstrip()}…"
    return tag(code, words) if code else words


def verdict_text(row: Row) -> str:
    """Return `meets`, or the requirements that the row misses or that are undecided for the row."""
    return "; ".join(unmet(row["require_each"])) or row["require"] or ""


def bodies(group: Group, line: Callable[[Row], Line], references: str = "Floors and references") -> list[Body]:
    """Return the table's bodies: first the choices, then the references. If there are requirements, the choices are
    grouped by whether they meet the requirements."""
    chosen = order_by_requirements(group, group.choices)
    titles = [TITLES[Verdict(row["require"])] if row["require"] else "" for row in chosen]
    found = [
        Body([line(row) for row, own in zip(chosen, titles, strict=True) if own == title], title)
        for title in dict.fromkeys(titles)
    ]
    apart = [line(row) for row in order_by_requirements(group, group.references)]
    return (
        [*found, Body(apart, references, "not libraries that you can install; for comparison only")] if apart else found
    )


def hints(group: Group, rows: Sequence[Row]) -> list[str]:
    """Return hints on settings that explain lost messages or overload. Each hint names the rows that it concerns."""
    return [
        f"{formatting.join(formatting.distinct(map(group.label, alike)))}: {text}"
        for text, alike in setting_hints(rows)
    ]
