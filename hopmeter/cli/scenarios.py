"""`hopmeter scenarios`: which questions there are."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from hopmeter.system.terminal import Console


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("scenarios", epilog="Example: hopmeter scenarios image > mine.toml")(scenarios)


def scenarios(
    name: Annotated[
        str | None, typer.Argument(help="One to print, as a start for your own.", show_default="a list")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of a scenario file, for editors.")] = False,
) -> None:
    """List the scenarios with the question each asks, or print one."""
    from hopmeter.scenario import files

    if name is not None:
        print(files.find_shipped(name).read_text(encoding="utf-8").rstrip())
        return
    if schema:
        print(schema_text(), end="")
        return
    known = {name: files.load(path)[0] for name, path in files.every().items()}
    if as_json:
        for name, scenario in known.items():
            print(json.dumps({"scenario": name, "title": scenario.title, "question": scenario.question}))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, scenario in known.items():
        table.add_row(name, scenario.question)
    Console(highlight=False).print(table)


def schema_text() -> str:
    """The schema as scenarios/scenario.schema.json holds it."""
    from hopmeter.scenario import files

    return json.dumps(files.schema(), indent=2) + "\n"
