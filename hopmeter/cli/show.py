"""`hopmeter show RUN`: the table of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("show", epilog="Example: hopmeter show results/2026-11-21T041200-quick")(show)


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, a line a cell.")] = False,
) -> None:
    """Print the table of a run again."""
    from hopmeter.cli import table
    from hopmeter.report import source

    found = source.read(run)
    if as_json:
        for row in found.rows:
            print(json.dumps(row.values))
    else:
        table.print_run(Console(highlight=False), found)
