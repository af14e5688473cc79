"""The complete command line. Each module of `hopmeter.cli` with a function `register(app)` adds its commands."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Annotated

import typer
from typer.models import CommandInfo

import hopmeter
from hopmeter import cli

PANELS = {
    "Measure": ("run", "advise", "scenarios", "transports", "codecs", "doctor"),
    "Measure over several machines": ("hosts", "agent"),
    "Read and keep results": ("show", "report", "compare", "baseline", "history", "site", "pack", "unpack"),
    "Build and extend": ("build", "new"),
    "Send and receive in two terminals": ("publish", "listen", "serve", "ask"),
}
"""The headings of the help and their commands, in the order in which users need them."""
OTHERS = "Others"

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measures, on your own machine, what it costs to send a message from one program to another.",
    epilog="Example: hopmeter run quick",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(hopmeter.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Define the options that apply to all commands."""


def register_all() -> None:
    """Add the commands of all modules to the application."""
    for module in _modules():
        _register(module)
    _sort_commands()


def register_for(words: Sequence[str]) -> None:
    """Add only the command that the first word names, because loading all commands is slow. If no command has this
    name, add all commands."""
    if not (words and words[0] in _modules() and _register(words[0])):
        register_all()


def _modules() -> list[str]:
    return sorted(found.name for found in pkgutil.iter_modules(cli.__path__))


@cache
def _register(module: str) -> bool:
    """Add the commands of a module once. Return whether the module defines any commands."""
    register = getattr(importlib.import_module(f"{cli.__name__}.{module}"), "register", None)
    if register is not None:
        register(app)
    return register is not None


def _sort_commands() -> None:
    """Sort the commands in the order of `PANELS`. Commands without a heading come last."""
    titles = {name: title for title, names in PANELS.items() for name in names}
    order = list(titles)
    for command in app.registered_commands:
        command.rich_help_panel = titles.get(_name(command), OTHERS)
    for group in app.registered_groups:
        group.rich_help_panel = titles.get(str(group.name), OTHERS)
    app.registered_commands.sort(
        key=lambda command: order.index(name) if (name := _name(command)) in titles else len(order)
    )


def _name(command: CommandInfo) -> str:
    """Return the name of a command, which defaults to the name of its function."""
    return str(command.name or getattr(command.callback, "__name__", ""))
