"""`hopmeter transports`: lists the transports, their state on this machine, and how to install missing ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hopmeter.errors import UsageError
from hopmeter.messages import tag
from hopmeter.system.tables import print_whole
from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.manifest import Manifest, Offer, Readiness

LONGEST_NAME = 24
"""The width of the column for a library's name and version, in characters."""


def register(app: typer.Typer) -> None:
    """Add the command `transports` to the application."""
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
    """List the transports: which are ready here, in which languages, and how to install the others.

    If you name transports, print their features and all their settings.
    """
    from hopmeter import manifest
    from hopmeter.cli.output import details

    known = manifest.select_transports(names) if names else manifest.every()
    ready = manifest.readiness_of_all(known.values())
    wrong = [] if names else [_not_ready(name, error) for name, error in manifest.broken_manifests().items()]
    if as_json:
        for state in (*ready.values(), *wrong):
            print(json.dumps({**state.as_json(), **_about(known.get(state.transport))}))
        return
    console = Console(highlight=False, markup=True)
    if names:
        for one in known.values():
            details.show(console, one, ready)
    else:
        _print_list(console, known, ready)
    _print_missing(console, [state for state in (*ready.values(), *wrong) if not state.ready])


def _not_ready(name: str, error: UsageError) -> Readiness:
    """Return the state of a transport with an invalid manifest."""
    from hopmeter.manifest import Readiness

    return Readiness(
        name, "", ready=False, code=error.code, missing=error.what, get=error.remedy or "correct its transport.toml"
    )


def _about(one: Manifest | None) -> dict[str, Any]:
    """Return the facts about a transport that do not depend on the language. Every fact is None if the transport's
    manifest is invalid."""
    return {
        "summary": one.summary if one else None,
        "installable": one.installable if one else None,
        "language_pairs": one.language_pairs if one else None,
    }


def _print_list(console: Console, known: Mapping[str, Manifest], ready: Mapping[tuple[str, str], Readiness]) -> None:
    """Print each transport with its summary, its languages, and the supported language pairs."""
    lines = {
        name: [_line(offer, ready[name, offer.language]) for offer in one.offers.values()]
        for name, one in known.items()
    }
    widths = [max(len(Text.from_markup(line[at]).plain) for each in lines.values() for line in each) for at in range(3)]
    for name, one in known.items():
        kind = "" if one.installable else " Reference: not a library that you can install."
        soft = not console.is_terminal
        console.print(Text.assemble((name, "bold"), f"  {one.summary}", (kind, "yellow")), soft_wrap=soft)
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(width=1)
        for width in widths:
            table.add_column(width=min(width, LONGEST_NAME), overflow="fold")
        table.add_column(overflow="fold")
        for line in lines[name]:
            table.add_row("", *line)
        print_whole(console, table)
        if len(one.offers) > 1:
            console.print(Text(f"   pairs of languages: {', '.join(one.language_pairs)}", style="dim"), soft_wrap=soft)


def _line(offer: Offer, state: Readiness) -> list[str]:
    mark = "[green]ready[/green]" if state.ready else "[yellow]not ready[/yellow]"
    library = escape(state.version if state.ready else offer.library)
    traits = f"[dim]{' '.join(offer.asked_waits)}; {' '.join(offer.patterns)}[/dim]"
    return [offer.language, mark, library if state.ready else f"[dim]{library}[/dim]", traits]


def _print_missing(console: Console, missing: Sequence[Readiness]) -> None:
    if missing:
        console.print("\n[bold]not ready[/bold]")
    for state in missing:
        named = f"{state.transport} ({state.language})" if state.language else state.transport
        console.print(f"  {named}: {tag(state.code, state.missing)}\n    → {state.get}", markup=False)
