"""`hopmeter baseline`: makes a baseline of runs, or lists the baselines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.comparison.baselines import Baseline

EPILOG = "Example: hopmeter baseline main results/monday results/tuesday results/wednesday"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("baseline", epilog=EPILOG)(baseline)


def baseline(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The name of the new baseline.")] = None,
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="At least three runs of different hours.")
    ] = None,
) -> None:
    """Make a baseline of at least three runs of different hours, or list the baselines.

    hopmeter copies the tables of the runs, without samples, to results/baselines/NAME.
    """
    from hopmeter.api import comparing

    console = Console(highlight=False)
    found = comparing.baselines() if name is None else [comparing.baseline(name, *(runs or []))]
    for each in found:
        _print(console, each)
    if not found:
        console.print("There are no baselines. `hopmeter baseline NAME RUN RUN RUN` makes one.", soft_wrap=True)


def _print(console: Console, found: Baseline) -> None:
    console.print(f"{found.name}: {', '.join(run.name for run in found.runs)}", markup=False, soft_wrap=True)
