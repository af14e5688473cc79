"""`hopmeter transports`: lists the transports, which are ready here, and how to get the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Readiness
from hopmeter.messages import tag
from hopmeter.system.terminal import Console


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("transports", epilog="Example: hopmeter transports zeromq")(transports)


def transports(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Transports to describe in full, with their settings.", show_default="a list"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each transport and language.")
    ] = False,
) -> None:
    """List transports: which are ready here, in which languages, and the command that gets the others.

    If you name transports, print everything they offer and all their settings.
    """
    from hopmeter import manifest
    from hopmeter.cli.parts import details

    known = manifest.select_transports(names) if names else manifest.every()
    ready = manifest.readiness_of_all(known.values())
    wrong = [] if names else [_not_ready(name, error) for name, error in manifest.broken_manifests().items()]
    if as_json:
        for state in (*ready.values(), *wrong):
            print(json.dumps(state.as_json()))
        return
    console = Console(highlight=False, markup=True)
    if names:
        for one in known.values():
            details.show(console, one, ready)
    else:
        console.print(_table(known, ready))
    _print_missing(console, [state for state in (*ready.values(), *wrong) if not state.ready])


def _not_ready(name: str, error: UsageError) -> Readiness:
    """Return the state of a transport whose manifest is broken."""
    return Readiness(
        name, "", ready=False, code=error.code, missing=error.what, get=error.remedy or "correct its transport.toml"
    )


def _table(known: dict[str, Manifest], ready: dict[tuple[str, str], Readiness]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("transport", "language", "", "library", "waits", "patterns"):
        table.add_column(column, overflow="fold")
    for name, one in known.items():
        for language, offer in one.offers.items():
            state = ready[name, language]
            mark = "[green]ready[/green]" if state.ready else "[yellow]not ready[/yellow]"
            library = state.version if state.ready else f"[dim]{offer.library}[/dim]"
            table.add_row(name, language, mark, library, " ".join(offer.waits), " ".join(offer.patterns))
    return table


def _print_missing(console: Console, missing: Sequence[Readiness]) -> None:
    if missing:
        console.print("\n[bold]not ready[/bold]")
    for state in missing:
        named = f"{state.transport} ({state.language})" if state.language else state.transport
        console.print(f"  {named}: {tag(state.code, state.missing)}\n    → {state.get}", markup=False)
