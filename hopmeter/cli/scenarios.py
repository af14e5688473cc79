"""`hopmeter scenarios`: lists the scenarios and their questions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.scenario import Scenario


def register(app: typer.Typer) -> None:
    """Add the command `scenarios` to the application."""
    app.command("scenarios", epilog="Example: hopmeter scenarios image > mine.toml")(scenarios)


def scenarios(
    name: Annotated[
        str | None,
        typer.Argument(help="The scenario to print, for example as a start for your own.", show_default="a list"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each scenario.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of scenario files, for editors.")
    ] = False,
) -> None:
    """List the scenarios with their questions, or print a scenario."""
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
            about = {"scenario": name, "title": scenario.title, "question": scenario.question}
            print(json.dumps(about | {"budget": _budget(scenario)}))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, scenario in known.items():
        table.add_row(name, _budget(scenario), scenario.question)
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "\nEach scenario takes at most the time shown; with --full, hopmeter measures the whole scenario.", style="dim"
    )


def _budget(scenario: Scenario) -> str | None:
    """Return the time budget of a scenario's quick look or, if it has no quick look, of the scenario itself. Return
    None without a budget."""
    return scenario.look.budget if scenario.look else scenario.budget


def schema_text() -> str:
    """Return the content of scenarios/scenario.schema.json."""
    from hopmeter.scenario import files

    return json.dumps(files.schema(), indent=2) + "\n"
