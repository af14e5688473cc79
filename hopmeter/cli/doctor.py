"""`hopmeter doctor`: finds settings and noise of this machine that disturb measurements, and suggests fixes."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from hopmeter.cli.parts.stopping import stopping
from hopmeter.machine.finding import Finding
from hopmeter.messages import tag
from hopmeter.system.terminal import Console

STYLES = {"good": "green", "note": "yellow", "hurts": "bold red", "unknown": "dim"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print all findings as one JSON object.")] = False,
    floors: Annotated[bool, typer.Option(help="Also measure the floors, if memory and shm are built.")] = True,
) -> None:
    """Examine this machine: settings, noise of each core, late wake-ups, the instrument's own cost, and the floors.

    This takes up to 10 seconds.
    """
    # imported here because loading the probes would slow down --help
    from hopmeter.api.measuring import sweep_leftovers
    from hopmeter.machine.examination import STEPS, Part, examine
    from hopmeter.machine.trust import trust

    console = Console(stderr=as_json, markup=True)
    sweep_leftovers(console)
    parts: list[Part] = []
    names = [name for name in STEPS if floors or name != "floors"]
    with stopping(lambda: f"not examined: {', '.join(names[len(parts) :])}"):
        for name in names:
            with console.status(STEPS[name][0]):
                parts.append(examine(name))
            if not as_json:
                _print(console, name, parts[-1].findings)
    found = [finding for part in parts for finding in part.findings]
    if as_json:
        seen = {part.name: part.seen for part in parts}
        print(json.dumps({**seen, "findings": found, "trust": trust(found)}))
    else:
        console.print(f"\n[bold]what to trust[/bold]  {trust(found)}")


def _print(console: Console, name: str, findings: list[Finding]) -> None:
    table = Table(
        title=name, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 2, 0, 0)
    )
    table.add_column(style="cyan", min_width=20)
    table.add_column(min_width=7)
    table.add_column(overflow="fold")
    for finding in findings:
        style = STYLES[finding["level"]]
        remedy = f"\n[italic]→ {finding['remedy']}[/italic]" if finding["remedy"] else ""
        says = finding["says"] if finding["level"] == "good" else tag(finding["code"], finding["says"])
        table.add_row(finding["subject"], f"[{style}]{finding['level']}[/{style}]", says + remedy)
    console.print(table)
    console.print()


def register(app: typer.Typer) -> None:
    """Add the command `doctor` to the application."""
    app.command(epilog="Example: hopmeter doctor --no-floors")(doctor)
