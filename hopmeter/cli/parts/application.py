"""The whole command line. Each module of `hopmeter.cli` that has a `register(app)` adds its commands."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Annotated

import typer

import hopmeter
from hopmeter import cli

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
    """Define the options of every command."""


def register_all() -> None:
    """Add the commands of all modules."""
    for module in sorted(found.name for found in pkgutil.iter_modules(cli.__path__)):
        register = getattr(importlib.import_module(f"{cli.__name__}.{module}"), "register", None)
        if register is not None:
            register(app)
