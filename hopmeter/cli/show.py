"""`hopmeter show RUN`: prints the tables of a run, the resources of its processes, or its messages as CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hopmeter.api.options import check_file
from hopmeter.cli.main import fail
from hopmeter.cli.parts.stopping import stopping
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.analysis.results.run_results import Run

Format = Literal["markdown", "csv", "json"]
STDOUT = Path("/dev/stdout")
"""The path of standard output. Message rows are written to stdout directly, without a temporary file."""


def register(app: typer.Typer) -> None:
    """Add the command `show` to the application."""
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
            help="Print the resources of each process or participant: CPU, context switches, memory.",
        ),
    ] = False,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", help="Print the comparison of each pair of cells in a table: ratio, interval, decision."
        ),
    ] = False,
    as_format: Annotated[
        Format | None,
        typer.Option("--format", help="Print the tables as Markdown, as CSV, or as one line of JSON for each."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write every message as a CSV line: middleware, plugin, timestamp, count, delay."
        ),
    ] = None,
) -> None:
    """Print the tables of a run."""
    from hopmeter.api.runs import find_cell, open_run
    from hopmeter.cli.output import cell_listing, pair_listing, process_listing, run_display

    if csv is not None:
        damaged: list[HopmeterError] = []
        typer.echo(
            f"{_write_messages(run, check_file('csv', csv), damaged.append)} messages in {csv}", err=csv == STDOUT
        )
        for bad in damaged:
            fail(bad)
        raise typer.Exit(1 if damaged else 0)
    if as_format is not None and (as_json or pairs):
        raise UsageError("E-OPTION-CONFLICT", "--format cannot be combined with --pairs or --json", "omit one of them")
    found = open_run(run).results
    if pairs:
        one = find_cell(found, cell).id if cell is not None else ""
        raise typer.Exit(pair_listing.show_pairs(found, one, as_json))
    if cell is not None:
        found.rows = [find_cell(found, cell)]
    if as_format is not None:
        typer.echo(_format_tables(found, each, as_format), nl=False)
    elif as_json:
        _print_json(found, each)
    elif each:
        process_listing.print_processes(Console(highlight=False), found)
    elif cell is not None:
        cell_listing.print_cell(Console(highlight=False), found.rows[0])
    else:
        run_display.show_stored(Console(highlight=False), found)


def _print_json(run: Run, with_processes: bool) -> None:
    from hopmeter.cli.output import process_listing

    if with_processes:
        process_listing.print_json(run)
        return
    for row in run.rows:
        print(json.dumps(row.values))


def _format_tables(run: Run, with_processes: bool, wanted: Format) -> str:
    from hopmeter.analysis.results.groups import groups
    from hopmeter.report.tables.processes import process_tables
    from hopmeter.report.tables.run_tables import run_tables
    from hopmeter.report.tables.text_files import FORMATS

    return FORMATS[wanted](process_tables(groups([run])) if with_processes else run_tables(run))


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
