"""The report section that compares the two sides of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hopmeter.analysis.results.run_results import Run
from hopmeter.comparison import missed
from hopmeter.comparison.interleaved import compare_sides, is_comparable
from hopmeter.report.comparisons import words
from hopmeter.report.sections.section import Section
from hopmeter.report.tables.changes import change_tables


def sections(runs: Sequence[Run]) -> list[Section]:
    """Return a section for each run with two sides."""
    return [_section(run) for run in runs if is_comparable(run)]


def sentences(runs: Sequence[Run]) -> list[str]:
    """Return a summary for each run that compares its two sides."""
    both = ((run, [compare_sides(run), missed.compare_sides(run)]) for run in runs)
    return [f"{_title(run)}. {' '.join(words.sentence(each) for each in found if each)}" for run, found in both]


def _title(run: Run) -> str:
    return f"New against old: {run.text('against')}"


def _section(run: Run) -> Section:
    tables = change_tables([*compare_sides(run), *missed.compare_sides(run)])
    return Section(_title(run), tables=[replace(each, caption=each.label) for each in tables], id=f"against-{run.name}")
