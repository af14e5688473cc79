"""`hopmeter codecs`: lists the codecs, their state on this machine, and how to install missing ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.manifest import Manifest


def register(app: typer.Typer) -> None:
    """Add the command `codecs` to the application."""
    app.command("codecs", epilog="Example: hopmeter codecs --json")(codecs)


def codecs(
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each codec.")] = False,
) -> None:
    """List the codecs: which are ready here, in which version, and how to install the others."""
    from hopmeter.build import frameworks

    states = frameworks.states()
    if as_json:
        for state in states:
            print(json.dumps(state.as_json()))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("codec", "", "version", "environment"):
        table.add_column(column, overflow="fold")
    for state in states:
        mark = "[green]ready[/green]" if state.ready else "[yellow]not ready[/yellow]"
        table.add_row(state.name, mark, state.version, "its own" if state.environment else "")
    console = Console(highlight=False, markup=True)
    console.print(table)
    if absent := [state for state in states if not state.ready]:
        console.print("\n[bold]not ready[/bold]")
    for state in absent:
        console.print(f"  {frameworks.format_cost(state.name)}\n    → {state.get}", markup=False, soft_wrap=True)


def install_frameworks(names: Sequence[str], transports: Sequence[str], settings: Sequence[str]) -> None:
    """Print the download sizes of the frameworks and install them. Exits with 1 if a required installation fails."""
    from hopmeter.api.build_display import install_framework
    from hopmeter.build import frameworks
    from hopmeter.build.targets import select_targets

    console = Console(highlight=False, soft_wrap=True, markup=True)
    wanted = frameworks.select(names)
    for name in wanted:
        console.print(f"[yellow]{frameworks.format_cost(name)}[/yellow]")
    chosen = {each.manifest.reference: each.manifest for each in select_targets(transports, ["python"], settings)}
    pairs = _pairs(wanted, list(chosen.values()) if transports else [])
    errors = [(install_framework(console, name, one), must) for name, one, must in pairs]
    if any(error and must for error, must in errors):
        raise typer.Exit(1)


def _pairs(names: Sequence[str], chosen: Sequence[Manifest]) -> Iterator[tuple[str, Manifest | None, bool]]:
    """Yield each framework, its transport (if any), and whether its installation must succeed."""
    from hopmeter import manifest
    from hopmeter.build import frameworks

    for name in names:
        if chosen:
            yield from ((name, one, True) for one in chosen)
            continue
        yield name, None, True
        yield from ((name, one, False) for one in frameworks.wanting(name, manifest.every().values()))
