"""The history page: a summary of changes, then a table and charts for each group of cells."""

from __future__ import annotations

from pathlib import Path

from hopmeter.analysis.history.cell_history import METRICS, History
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report import report_file
from hopmeter.report.drawing.charts import Figure
from hopmeter.report.sections.section import Page, Section
from hopmeter.report.site import history_chart
from hopmeter.report.tables.history import table
from hopmeter.report.words import formatting
from hopmeter.report.words.history_words import cell_name, sentences
from hopmeter.store.disk import replacing, writing

READING = (
    "In each chart, a dot is the median or p99 of a run, with its 95 % interval. A horizontal line is the level: the "
    "median of the runs between two changes. A vertical line marks a significant change."
)


def write(history: History, out: Path) -> Path:
    """Write the history as a single HTML file, and return its path."""
    text = report_file.render(page(history))
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as partly:
        partly.write_text(text, encoding="utf-8", errors="backslashreplace")
    return out


def page(history: History) -> Page:
    """Return the page of a history."""
    days = formatting.distinct(history.runs[place].text("started")[:10] for place in (0, -1))
    facts = [formatting.plural(len(history.runs), "run"), " to ".join(days)]
    reading = Section("", sentences=[READING])
    sections = [reading, *(_section(history, group) for group in history.groups())]
    return Page("hopmeter: history", "What changed over time?", sentences(history), facts, sections)


def _section(history: History, group: Group) -> Section:
    shown = table(history, group)
    repeated = [row for row in group.rows if len(history.of(row)[METRICS[0]].points) > 1]
    drawn = [_figure(history, row, f"{group.id}-history-{number}") for number, row in enumerate(repeated, 1)]
    return Section(
        shown.label,
        chips=shown.chips,
        tables=[shown],
        figures=[figure for figure in drawn if figure],
        id=group.id,
        style="group",
        fold="open",
    )


def _figure(history: History, row: Row, name: str) -> Figure | None:
    series = list(history.of(row).values())
    return history_chart.figure(name, cell_name(row), series, _runs_of(history, series[0].machine))


def _runs_of(history: History, machine: str) -> list[Run]:
    """Return all runs of a machine that have at least one valid cell."""
    known = {id(point.run) for each in history.series if each.machine == machine for point in each.points}
    return [run for run in history.runs if id(run) in known]
