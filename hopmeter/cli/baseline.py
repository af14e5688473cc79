"""`hopmeter baseline`: makes a baseline of runs, or lists the baselines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopmeter.errors import UsageError
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
    from hopmeter.comparison import baselines

    console = Console(highlight=False)
    if name is None:
        for each in baselines.names():
            _print(console, baselines.load(each))
    elif not runs:
        raise UsageError(
            "E-BASELINE-RUNS", f"baseline {name}: no run was named", f"hopmeter baseline {name} RUN RUN RUN"
        )
    else:
        _print(console, baselines.store(name, runs))


def _print(console: Console, found: Baseline) -> None:
    console.print(f"{found.name}: {', '.join(run.name for run in found.runs)}", markup=False, soft_wrap=True)
