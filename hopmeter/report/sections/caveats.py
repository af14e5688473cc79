"""Sections on the limits of a report: the warnings, and the cells and trials without results."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.sections.section import Note, Section
from hopmeter.report.tables.model import Column, Line, Value, table
from hopmeter.report.warnings.result_rules import warnings
from hopmeter.report.words import conditions, formatting

UNKNOWN = "no reason was recorded"
READING = (
    ("Rank", "The possible ranks of a row. <em>1–3</em> means that the row does not differ significantly from other "
     "rows with these ranks; the next run may order them differently."),
    ("Interval", "The 95 % confidence interval, computed from the differences between trials, each in new processes. "
     "It needs at least three good trials."),
    ("Too few", "Fewer than ten messages are slower than this percentile, so its value would be random."),
    ("Lost", "So many messages were lost that this percentile falls on a lost message, which has no latency. Measuring "
     "more messages would not change this."),
    ("Times floor", "The row's median divided by the median of the floor, the cheapest transport for the same hop on "
     "this machine. The floor is measured in the same run in Rust, so this ratio includes the cost of the row's "
     "language."),
    ("CPU", "User and system time of all processes of the cell, in microseconds per message."),
)  # fmt: skip


def warning_sections(runs: Sequence[Run]) -> list[Section]:
    """Return a list with the warnings section, or an empty list if there are no warnings."""
    found = [Note(f"{each.text} `{each.code}`", each.title, each.grave) for each in warnings(runs)]
    return [Section("Warnings", notes=found, id="warnings")] if found else []


def missing_sections(runs: Sequence[Run]) -> list[Section]:
    """Return a list with the section on dropped cells, failed cells and failed trials, or an empty list if the section
    is empty."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        _add_cells(run, found)
        _add_trials(run, found)
    if not found:
        return []
    title, columns = "What was not measured", (Column("Result", "status"), Column("Reason"), Column("Cells", "which"))
    lines = [_line(kind, reason, cells) for (kind, reason), cells in sorted(found.items(), reverse=True)]
    return [Section(title, tables=[table(title.lower(), columns, lines)], id="missing")]


def _line(kind: str, reason: str, cells: list[str]) -> Line:
    names = "; ".join(formatting.first(formatting.distinct(cells), 4, "more", "more"))
    return Line([Value(kind, style=kind.replace(" ", "-")), Value(formatting.code(reason)), Value(names)])


def _add_cells(run: Run, found: dict[tuple[str, str], list[str]]) -> None:
    for row in run.rows:
        if row["status"] in ("dropped", "failed"):
            found.setdefault((str(row["status"]), str(row["reason"] or UNKNOWN)), []).append(_cell(row))


def _add_trials(run: Run, found: dict[tuple[str, str], list[str]]) -> None:
    rows = {row.id: row for row in run.rows if row["status"] != "failed"}
    for trial in run.trials:
        if not trial.get("good") and trial["cell"] in rows:
            key = ("trial failed", str(trial.get("reason") or UNKNOWN))
            found.setdefault(key, []).append(f"{_cell(rows[trial['cell']])}, trial {trial['trial']}")


def _cell(row: Row) -> str:
    rate = formatting.rate(row["rate_hz"]) if row["rate_hz"] else ""
    parts = [formatting.row_name(row), conditions.payload_name(row), rate, str(row["wait"] or "")]
    return ", ".join(formatting.distinct(parts))


def reading_section() -> Section:
    """Return the section that explains the terms used in the tables."""
    terms = [(word, Markup(meaning)) for word, meaning in READING]
    return Section("How to read the tables", terms=terms, id="reading", style="reading")
