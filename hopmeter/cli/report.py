"""`hopmeter report`: the page a person decides from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hopmeter.cli.parts.options import a_file
from hopmeter.cli.parts.stopping import stopping

EPILOG = "Example: hopmeter report results/2026-11-21T041200-quick -o report.html"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("report", epilog=EPILOG)(report)


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; several are put into one report.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the figures go as SVG and PNG.", show_default="FILE.figures"),
    ] = None,
) -> None:
    """Writes one self-contained HTML file (it needs no network), and its figures as SVG and PNG beside it."""
    # Drawing libraries take a second to load; `hopmeter --help` should not wait for them.
    with stopping(f"{out} and its figures are as they were before"):
        from hopmeter.report import write

        typer.echo(write(runs, a_file("out", out), figures))
