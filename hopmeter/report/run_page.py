"""The report page for runs: the question, the answer and the sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report import figures
from hopmeter.report.answer import answer, groups_in_answer
from hopmeter.report.comparisons import section as comparisons
from hopmeter.report.drawing.charts import Figure, Style
from hopmeter.report.sections import (
    caveats,
    environment,
    group_section,
    highest_rates,
    limits_table,
    machine_table,
    security_section,
)
from hopmeter.report.sections.section import Page, Section
from hopmeter.report.studies import study_sections
from hopmeter.report.tables.throughput import throughput_groups
from hopmeter.report.words import formatting


def page(runs: Sequence[Run], with_figures: bool = True) -> Page:
    """Return the report page for the given runs. Figures can be left out, because drawing takes most of the time."""
    scenarios = formatting.join(formatting.distinct(scenario(run) for run in runs))
    questions = [run.text("question") or str(run.part("scenario").get("question") or "") for run in runs]
    title = f"hopmeter: {formatting.join(formatting.distinct(run.text('title') or scenario(run) for run in runs))}"
    return Page(
        title,
        " ".join(formatting.distinct(questions)) or f"How long does a hop take? ({title})",
        answer(runs, groups(runs)),
        [scenarios, *_facts(runs)],
        sections(runs, with_figures),
        "quick look" if any(run.quick for run in runs) else "",
    )


def sections(runs: Sequence[Run], with_figures: bool = True) -> list[Section]:
    """Return the report sections: the sections that compare all runs come first, then the details."""
    found, style = groups(runs), Style.of(runs)
    named = {group.id for group in groups_in_answer(runs, found)}
    across = list(figures.across(found, style)) if with_figures else []
    return [
        *comparisons.sections(runs),
        *highest_rates.sections(runs),
        *limits_table.sections(runs),
        *security_section.sections(runs),
        *machine_table.sections(runs, found),
        *([Section("Comparisons across conditions", figures=across)] if across else []),
        *(
            group_section.section(group, _figures(group, style) if with_figures else [], group.id in named)
            for group in found
        ),
        *(
            []
            if found or throughput_groups(runs)
            else [Section("", sentences=["There are no rows to show, because every cell was dropped."])]
        ),
        *study_sections.sections(runs),
        *caveats.warning_sections(runs),
        *caveats.missing_sections(runs),
        caveats.reading_section(),
        environment.repeat_section(runs),
        environment.section(runs),
    ]


def _figures(group: Group, style: Style) -> list[Figure]:
    """Return the figures of a group, with names that are unique on the page."""
    return [replace(figure, name=f"{group.id}-{figure.name}") for figure in figures.draw(group, style)]


def scenario(run: Run) -> str:
    """Return the name of the run's scenario."""
    known = run.about.get("scenario")
    named = known.get("name") if isinstance(known, dict) else known
    return str(run.about.get("scenario_name") or named or run.name)


def _facts(runs: Sequence[Run]) -> list[str]:
    """Return facts about the runs for display on the page: start times, sizes and seeds."""
    cells, trials = sum(len(run.measured_rows) for run in runs), sum(len(run.trials) for run in runs)
    seeds = formatting.join(formatting.distinct(run.text("seed") for run in runs))
    size = f"{formatting.plural(cells, 'cell')}, {formatting.plural(trials, 'trial')}"
    times = formatting.join(formatting.distinct(start_time(run) for run in runs))
    return formatting.distinct([times, size, f"seed {seeds}" if seeds else ""])


def start_time(run: Run) -> str:
    """Return the start time of the run in the time zone of the run's machine. A start time that cannot be parsed is
    returned unchanged."""
    started = run.text("started")
    try:
        at = datetime.fromisoformat(started)
    except ValueError:
        return started
    return f"{at.day} {at:%B %Y, %H:%M} {at.tzname() or ''}".strip()
