"""`hopmeter history`: shows the latency of each cell over all runs, and the runs at which the latency changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hopmeter.api.options import check_file
from hopmeter.cli.parts.stopping import stopping


def register(app: typer.Typer) -> None:
    """Add the command `history` to the application."""
    app.command("history", epilog="Example: hopmeter history results -o history.html")(history)


def history(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]...", help="Folders with runs, or runs.", show_default="results"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Also write an HTML page with a chart of each cell."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each cell and percentile.")] = False,
    transport: Annotated[list[str] | None, typer.Option(help="Only these transports.")] = None,
    language: Annotated[list[str] | None, typer.Option(help="Only these languages.")] = None,
) -> None:
    """Show the latency of each cell over all runs of a machine, and the runs at which the latency changed."""
    from hopmeter.api.histories import read_history, series_json
    from hopmeter.cli.output import history_table

    with stopping("nothing was written"):
        found = read_history(places or [], transport or [], language or [])
        if out is not None:
            from hopmeter.report.site import history_page

            history_page.write(found, check_file("out", out))
    if as_json:
        for each in found.series:
            print(json.dumps(series_json(each)))
    else:
        history_table.print_history(found)
        if out is not None:
            typer.echo(out)
