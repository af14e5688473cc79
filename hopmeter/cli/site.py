"""`hopmeter site DIR… -o site/`: writes a static site about runs and machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hopmeter.cli.parts.stopping import stopping
from hopmeter.system import paths


def register(app: typer.Typer) -> None:
    """Add the command `site` to the application."""
    app.command("site", epilog="Example: hopmeter site results /mnt/other/results -o site")(site)


def site(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]...", help="Folders with runs, or runs.", show_default="results"),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder of the site.")] = Path("site"),
) -> None:
    """Write a static site: a page that filters all runs, and a page for each run."""
    from hopmeter.analysis.history.run_collection import read_runs
    from hopmeter.report.site import site_folder

    with stopping("the site is incomplete", "run the command again; finished pages are kept"):
        typer.echo(site_folder.write(read_runs(places or [paths.results()], trials=False), out))
