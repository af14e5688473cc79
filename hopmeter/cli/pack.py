"""`hopmeter pack RUN` and `hopmeter unpack FILE`: write a run to a single file, and restore it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hopmeter.api.options import check_file
from hopmeter.cli.parts.stopping import stopping
from hopmeter.system import humanize, paths


def register(app: typer.Typer) -> None:
    """Add the commands `pack` and `unpack` to the application."""
    app.command("pack", epilog="Example: hopmeter pack results/2026-11-21T041200-quick")(pack)
    app.command("unpack", epilog="Example: hopmeter unpack 2026-11-21T041200-quick.hopmeter.zip")(unpack)


def pack(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file.", show_default="RUN.hopmeter.zip")
    ] = None,
) -> None:
    """Pack a run into one file that all commands can read. The file does not include the nodes' logs."""
    from hopmeter.store.pack import SUFFIX
    from hopmeter.store.run_folder import RunFolder

    folder = RunFolder.open(run)
    file = check_file("out", out or Path(folder.path.name + SUFFIX))
    with stopping(f"{file} is unchanged"):
        written = folder.pack(file)
    typer.echo(written)
    size = f"{humanize.size(written.stat().st_size / 1e6)}, {len(folder.cells)} cells, {len(folder.trials)} trials"
    typer.echo(f"{size}; without the nodes' logs", err=True)
    typer.echo(f"All commands can read this file, for example: hopmeter report {written}", err=True)


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `hopmeter pack` wrote.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="The folder in which to create the run folder.", show_default="results"
        ),
    ] = None,
) -> None:
    """Unpack a packed run into a run folder."""
    from hopmeter.store import pack

    with stopping("nothing was unpacked"):
        typer.echo(pack.unpack(file, out or paths.results()))
