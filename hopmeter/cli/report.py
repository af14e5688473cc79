"""`hopmeter report`: writes an HTML report on runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hopmeter.api.options import check_file
from hopmeter.cli.parts.stopping import stopping

EPILOG = "Example: hopmeter report results/2026-11-21T041200-quick -o report.html"


def register(app: typer.Typer) -> None:
    """Add the command `report` to the application."""
    app.command("report", epilog=EPILOG)(report)


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; the report combines them.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The folder for the figures as SVG and PNG files.", show_default="FILE.figures"
        ),
    ] = None,
) -> None:
    """Write a report as one self-contained HTML file, with its figures as SVG and PNG files next to it."""
    # imported here because the drawing libraries take a second to load, which would slow down `hopmeter --help`
    with stopping(f"{out} and its figures are unchanged"):
        from hopmeter.report import write

        typer.echo(write(runs, check_file("out", out), figures))
