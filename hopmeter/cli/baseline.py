"""`hopmeter baseline`: creates a baseline from runs, or lists the baselines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.comparison.baselines import Baseline

EPILOG = "Example: hopmeter baseline main results/monday results/tuesday results/wednesday"


def register(app: typer.Typer) -> None:
    """Add the command `baseline` to the application."""
    app.command("baseline", epilog=EPILOG)(baseline)


def baseline(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The name of the new baseline.")] = None,
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="At least three runs from different hours.")
    ] = None,
) -> None:
    """Create a baseline from at least three runs from different hours, or list the baselines.

    hopmeter copies the tables of the runs, without samples, to results/baselines/NAME.
    """
    from hopmeter.api import comparing

    console = Console(highlight=False)
    found = comparing.baselines() if name is None else [comparing.baseline(name, *(runs or []))]
    lines = [line for each in found for line in _describe(each)]
    for line in lines or ["There are no baselines. `hopmeter baseline NAME RUN RUN RUN` creates a baseline."]:
        console.print(line, markup=False, soft_wrap=True)


def _describe(found: Baseline) -> list[str]:
    """Return lines of text with a baseline's runs, its directory, and the smallest change that it can detect."""
    from hopmeter.comparison import between_runs, run_facts
    from hopmeter.comparison.baselines import baselines_folder
    from hopmeter.report.comparisons import words
    from hopmeter.report.words import formatting

    side = between_runs.Runs(found.name, found.runs)
    ratios = between_runs.detectable(side)
    lines = [run_facts.describe(side), f"  in {baselines_folder() / found.name}"]
    lines += [f"  {run.name}" for run in found.runs]
    if ratios:
        span = " to ".join(formatting.distinct([words.percent(min(ratios)), words.percent(max(ratios))]))
        cells = formatting.plural(len(ratios), "cell")
        lines += [
            f"  This baseline detects changes of {span} in a later run ({cells}). More runs detect smaller changes."
        ]
    return lines
