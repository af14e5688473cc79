"""`hopmeter new`: creates a transport or a workload from a template."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hopmeter.api.options import split_words
from hopmeter.errors import UsageError
from hopmeter.system import paths
from hopmeter.system.terminal import Console

new = typer.Typer(no_args_is_help=True, help="Create something new from a template.")


@new.callback()
def _new() -> None:
    """Create a transport or a workload from a template."""


@new.command(epilog="Example: hopmeter new transport my-bus --language rust,python")
def transport(
    name: Annotated[
        str, typer.Argument(help="The name of the transport and its folder: lower-case letters, digits and dashes.")
    ],
    language: Annotated[
        list[str] | None,
        typer.Option(help="rust, c++ or python; repeat the option or separate values with commas. All by default."),
    ] = None,
) -> None:
    """Create a transport from the template, which builds and passes the conformance tests unchanged."""
    from hopmeter.build.template import create

    languages = split_words("language", language or ()) or _possible()
    folder = create(name, languages, _template(), paths.transport_folders()[0])
    print(folder)
    Console(stderr=True).print(f"next: hopmeter build {name}, then docs/adding-a-transport.md")


@new.command(epilog="Example: hopmeter new workload robot.toml")
def workload(
    file: Annotated[
        Path | None,
        typer.Argument(help="The scenario to write; by default workload.toml, or the name of the topology."),
    ] = None,
    topology: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="Create the workload from a topology file (JSON) of iRobot's ros2-performance; repeat the option if "
            "the topology has several files.",
            metavar="JSON",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a workload scenario: a commented example that you can run, or the topology of another benchmark."""
    from hopmeter.scenario.new_workload import create_workload

    made = create_workload(file, topology or (), force)
    print(made.file)
    console = Console(stderr=True)
    for note in made.notes:
        console.print(note, style="yellow", markup=False, soft_wrap=True)
    console.print(f"next: hopmeter run {made.file} --dry-run, then docs/workloads.md", soft_wrap=True)


def _possible() -> list[str]:
    """Return the languages for a new adapter. Rust adapters can be created only in a source checkout."""
    from hopmeter.build.template import FOLDERS

    return [language for language in FOLDERS if language != "rust" or paths.checkout()]


def _template() -> Path:
    for folder in paths.transport_folders():
        if (folder / "_template").is_dir():
            return folder / "_template"
    raise UsageError("E-NOT-PACKAGED", "the template is missing from this installation", "install hopmeter again")


def register(app: typer.Typer) -> None:
    """Add the command group `new` to the application."""
    app.add_typer(new, name="new")
