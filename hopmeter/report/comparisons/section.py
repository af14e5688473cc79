"""The section of a report on the two sides of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hopmeter.analysis.results.run_results import Run
from hopmeter.comparison import missed
from hopmeter.comparison.change import Change
from hopmeter.comparison.interleaved import compare_sides, is_comparable
from hopmeter.report.comparisons import words
from hopmeter.report.section import Section
from hopmeter.report.tables.model import Column, Line, Table, Value, table

COLUMNS = (
    Column("Cell", "name", heads=True),
    Column("Old", "number"),
    Column("New", "number"),
    Column("Change", "number", "~: no significant difference"),
    Column("95 % interval", "number"),
    Column("Verdict"),
)


def sections(runs: Sequence[Run]) -> list[Section]:
    """Return a section for each run with two sides."""
    return [_section(run) for run in runs if is_comparable(run)]


def sentences(runs: Sequence[Run]) -> list[str]:
    """Return what the sides of each of these runs say, in a sentence."""
    both = ((run, [compare_sides(run), missed.compare_sides(run)]) for run in runs)
    return [f"{_title(run)}. {' '.join(words.sentence(each) for each in found if each)}" for run, found in both]


def _title(run: Run) -> str:
    return f"New against old: {run.text('against')}"


def _section(run: Run) -> Section:
    both = (compare_sides(run), missed.compare_sides(run))
    tables = [
        _table(title, [each for each in changes if each.cell.group == key])
        for changes in both
        for key, title in words.titles(changes).items()
    ]
    return Section(
        _title(run),
        tables=tables,
        id=f"against-{run.name}",
    )


def _table(title: str, changes: Sequence[Change]) -> Table:
    unit = words.unit(changes[0])
    columns = [replace(each, unit=unit) if each.title in ("Old", "New") else each for each in COLUMNS]
    return table(f"{title}: old and new", columns, [_line(each) for each in changes], title)


def _line(each: Change) -> Line:
    return Line(
        [
            Value(each.name),
            *(Value(words.value(each, side), sort=side and side.value) for side in (each.old, each.new)),
            Value(words.change(each), sort=each.difference if each.is_share else each.ratio),
            Value(words.interval(each)),
            Value(words.verdict(each)),
        ]
    )
