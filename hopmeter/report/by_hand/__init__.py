"""The report page for `hopmeter listen`, `publish` and `ask`, with one section for each result directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hopmeter.analysis.results.run_results import Run
from hopmeter.report.by_hand import object_delays, server_calls
from hopmeter.report.by_hand.folder import participant, read
from hopmeter.report.run_page import start_time
from hopmeter.report.sections import environment
from hopmeter.report.sections.section import Page, Section
from hopmeter.report.words import formatting

SECTIONS = {"listener": object_delays.section, "publisher": object_delays.section, "asker": server_calls.section}
CAUTION = (
    "This is a single trial. Messages of one trial resemble each other more than messages of different trials, so "
    "rely on a difference between rows only if another run confirms it."
)
TRANSIENT = ("Load before the run", "Stolen since boot, %")
"""Facts about a machine that change from minute to minute, such as its load."""


def page(folders: Sequence[Path]) -> Page:
    """Return the report page for the given result directories. Raises StoreError if a log is damaged, and UsageError if
    a log is empty."""
    runs = [read(folder) for folder in folders]
    sections = [section(run, number) for number, run in enumerate(runs, 1)]
    times = formatting.distinct(start_time(run) for run in runs)
    parts = _machines(runs)
    facts = [environment.fact_section("", parts)] if parts else []
    question = _question({participant(folder) for folder in folders})
    return Page("hopmeter: started by hand", question, [CAUTION], ["started by hand", *times], [*sections, *facts])


def section(run: Run, number: int) -> Section:
    """Return the report section of one command. `number` keeps figure names unique on the page."""
    return SECTIONS[participant(run.folder)](run, number)


def _question(participants: set[str]) -> str:
    if "asker" not in participants:
        return "How long does each object take?"
    return "How long do the servers take?" if participants == {"asker"} else "How long do objects and servers take?"


def _machines(runs: Sequence[Run]) -> list[tuple[str, environment.Facts]]:
    """Return the machine facts of each command, or a single entry if the facts are equal for all commands."""
    known = [(run.folder.name, environment.machine(run)) for run in runs if run.part("machine")]
    alike = {str([fact for fact in facts if fact[0] not in TRANSIENT]) for _, facts in known}
    return [("Machine", known[0][1])] if len(alike) == 1 else [(f"Machine of {name}", facts) for name, facts in known]
