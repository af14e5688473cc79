"""`hopmeter history`: each cell over all runs, and where it changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopmeter.api.options import check_file, split_words
from hopmeter.cli.parts.stopping import stopping
from hopmeter.system import paths

if TYPE_CHECKING:
    from hopmeter.analysis.run_results import Run


def register(app: typer.Typer) -> None:
    """Add the command."""
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
    """Show the latency of each cell over all runs of a machine, and at which run it changed."""
    from hopmeter.analysis.history import history as analyse
    from hopmeter.analysis.run_collection import read_runs
    from hopmeter.cli.parts import history_table

    with stopping("nothing was written"):
        runs = read_runs(places or [paths.results()], trials=False)
        _choose(
            runs,
            {
                "transport": split_words("transport", transport or ()),
                "language": split_words("language", language or ()),
            },
        )
        found = analyse(runs)
        if out is not None:
            from hopmeter.report import history_page

            history_page.write(found, check_file("out", out))
    if as_json:
        for each in found.series:
            print(json.dumps(history_table.as_json(each)))
    else:
        history_table.print_history(found)
        if out is not None:
            typer.echo(out)


def _choose(runs: list[Run], wanted: dict[str, list[str]]) -> None:
    """Leave out rows of other transports and languages, so that changes are corrected over what is shown."""
    for run in runs:
        run.rows = [row for row in run.rows if all(not words or row[name] in words for name, words in wanted.items())]
