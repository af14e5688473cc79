"""The section of a report on the two sides of a run."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.run_results import Run
from hopmeter.comparison.change import Change
from hopmeter.comparison.interleaved import compare_sides, is_comparable
from hopmeter.report.comparisons import words
from hopmeter.report.section import Column, Line, Section, Table, Value, table

COLUMNS = (
    Column("Cell", "name", heads=True),
    Column("Old, µs", "number"),
    Column("New, µs", "number"),
    Column("Change", "number", "~: no significant difference"),
    Column("95 % interval", "number"),
    Column("Verdict"),
)


def sections(runs: Sequence[Run]) -> list[Section]:
    """Return a section for each run with two sides."""
    return [_section(run) for run in runs if is_comparable(run)]


def sentences(runs: Sequence[Run]) -> list[str]:
    """Return what the sides of each of these runs say, in a sentence."""
    return [f"{_title(run)}. {words.sentence(compare_sides(run))}" for run in runs]


def _title(run: Run) -> str:
    return f"New against old: {run.text('against')}"


def _section(run: Run) -> Section:
    changes = compare_sides(run)
    titles = words.titles(changes)
    tables = [_table(title, [each for each in changes if each.cell.group == key]) for key, title in titles.items()]
    return Section(
        _title(run),
        tables=tables,
        id=f"against-{run.name}",
    )


def _table(title: str, changes: Sequence[Change]) -> Table:
    return table(f"{title}: old and new", COLUMNS, [_line(each) for each in changes], title)


def _line(each: Change) -> Line:
    sides = [side.value if side else None for side in (each.old, each.new)]
    return Line(
        [
            Value(each.name),
            *(Value(words.value(side), sort=side) for side in sides),
            Value(words.change(each), sort=each.ratio),
            Value(words.interval(each)),
            Value(words.verdict(each)),
        ]
    )
