"""`hopmeter report`: writes an HTML report about runs."""

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
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; several share one report.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the figures as SVG and PNG.", show_default="FILE.figures"),
    ] = None,
) -> None:
    """Write one self-contained HTML file that needs no network, and its figures as SVG and PNG next to it."""
    # imported here because the drawing libraries take a second to load, which would slow down `hopmeter --help`
    with stopping(f"{out} and its figures are unchanged"):
        from hopmeter.report import write

        typer.echo(write(runs, check_file("out", out), figures))
