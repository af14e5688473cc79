"""`hopmeter show RUN`: prints the table of a run, what its processes used, or its messages as CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from hopmeter.api.options import check_file
from hopmeter.cli.main import fail
from hopmeter.cli.parts.stopping import stopping
from hopmeter.errors import HopmeterError
from hopmeter.system.terminal import Console

STDOUT = Path("/dev/stdout")
"""The default output, which is written directly, even if it is a file or a pipe."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show", epilog="Example: hopmeter show results/2026-11-21T041200-quick")(show)


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    cell: Annotated[
        str | None, typer.Argument(metavar="[CELL]", help="Print one cell, and why its slowest messages are slow.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each cell or process.")] = False,
    each: Annotated[
        bool,
        typer.Option(
            "--processes",
            "--participants",
            help="Print what each process, or participant of a workload, used: CPU, context switches, memory.",
        ),
    ] = False,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Print how each two cells of a table compare: ratio, interval, decision.")
    ] = False,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write every message as a line: middleware, plugin, timestamp, count, delay."
        ),
    ] = None,
) -> None:
    """Print the table of a run again."""
    from hopmeter.api.runs import find_cell, open_run
    from hopmeter.cli.parts import cell_listing, pair_listing, process_listing, run_display

    if csv is not None:
        damaged: list[HopmeterError] = []
        typer.echo(
            f"{_write_messages(run, check_file('csv', csv), damaged.append)} messages in {csv}", err=csv == STDOUT
        )
        for bad in damaged:
            fail(bad)
        raise typer.Exit(1 if damaged else 0)
    found = open_run(run).results
    if pairs:
        one = find_cell(found, cell).id if cell is not None else ""
        raise typer.Exit(pair_listing.show_pairs(found, one, as_json))
    if cell is not None:
        found.rows = [find_cell(found, cell)]
    if each and as_json:
        process_listing.print_json(found)
    elif each:
        process_listing.print_processes(Console(highlight=False), found)
    elif as_json:
        for row in found.rows:
            print(json.dumps(row.values))
    elif cell is not None:
        cell_listing.print_cell(Console(highlight=False), found.rows[0])
    else:
        run_display.show_stored(Console(highlight=False), found)


def _write_messages(run: Path, csv: Path, missed: Callable[[HopmeterError], None]) -> int:
    from hopmeter.report import write_csv
    from hopmeter.store.disk import replacing, writing

    if csv == STDOUT:
        with stopping("some messages are missing"):
            return write_csv(run, sys.stdout, missed)
    with writing(csv):
        csv.parent.mkdir(parents=True, exist_ok=True)
    with (
        stopping(f"{csv} is unchanged"),
        replacing(csv) as partial,
        partial.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        return write_csv(run, file, missed)
