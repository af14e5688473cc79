"""Write sentences that name the runs on each side of a comparison, and everything else in which the two sides
differ."""

from __future__ import annotations

from datetime import datetime

from hopmeter.analysis.history.cell_history import SYSTEM
from hopmeter.analysis.results.builds import kind_of_build
from hopmeter.analysis.results.run_results import Run
from hopmeter.comparison.between_runs import Runs
from hopmeter.plan.sides import NEW


def notes(old: Runs, new: Runs) -> list[str]:
    """Return sentences that name the compared runs, and sentences that list the differences in library versions and
    system properties."""
    differences = _differences(old, new)
    also = [f"Also different: {', '.join(differences)}."] if differences else []
    return [f"Old: {describe(old)}. New: {describe(new)}.", *also]


def notes_of_sides(run: Run) -> list[str]:
    """Return sentences that name the commit of a run's old side, and the library versions in which the two sides
    differ."""
    commit = run.text("against_commit")
    rows = {row.id: row for row in run.measured_rows}
    pairs = [
        (rows.get(row.cell.comparison.counterpart), row) for row in rows.values() if row.cell.comparison.side == NEW
    ]
    found = [
        f"{row['transport']} ({row['language']}) {old['library_version']} → {row['library_version']}"
        for old, row in pairs
        if old and old["library_version"] != row["library_version"]
    ]
    known = [f"The revision {run.text('against')} is {commit[:12]}."] if commit else []
    return [*known, *([f"Libraries: {'; '.join(dict.fromkeys(found))}."] if found else [])]


def describe(side: Runs) -> str:
    """Return a side's name and start times, such as `main (3 runs from 2026-11-21 04:12 to 2026-11-22 05:00)`."""
    starts = sorted(map(_start, side.runs))
    if len(starts) == 1:
        return f"{side.name} ({starts[0]})"
    return f"{side.name} ({len(starts)} runs from {starts[0]} to {starts[-1]})"


def _start(run: Run) -> str:
    """Return a run's start time, precise to the minute, or the stored text if that text is not a date."""
    text = run.text("started")
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M}"
    except ValueError:
        return text or "of an unknown time"


def _differences(old: Runs, new: Runs) -> list[str]:
    before, after = _facts(old), _facts(new)
    return [
        f"{name} {'/'.join(sorted(before[name]))} → {'/'.join(sorted(after[name]))}"
        for name in before
        if name in after and not before[name] & after[name]
    ]


def _facts(side: Runs) -> dict[str, set[str]]:
    """Return each library version and system property with all its values in the runs of one side."""
    found: dict[str, set[str]] = {}
    for run in side.runs:
        machine = run.part("machine")
        system = {name.replace("_", " "): machine.get(name) for name in SYSTEM}
        builds = {f"build of {name}": kind_of_build(str(how)) for name, how in run.part("builds").items()}
        for name, value in {"hopmeter": run.text("hopmeter"), **run.part("versions"), **builds, **system}.items():
            if value:
                found.setdefault(name, set()).add(str(value))
    return found
