"""The command `hopmeter`. Each module beside this one that has a `register(app)` adds its commands."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Annotated

import typer
from rich.console import Console

import hopmeter
from hopmeter import cli
from hopmeter.errors import HopmeterError

INTERRUPTED = 130

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Settles, on your own machine, what it costs to move a message from one program to another.",
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
    """What holds for every command; there is nothing but the version."""


def register_all() -> None:
    """Finds the commands."""
    for module in sorted(found.name for found in pkgutil.iter_modules(cli.__path__)):
        register = getattr(importlib.import_module(f"{cli.__name__}.{module}"), "register", None)
        if register is not None:
            register(app)


def run() -> None:
    """The entry point: what is wrong is said in words, and the exit code says what kind of wrong it is."""
    register_all()
    try:
        app()
    except HopmeterError as failed:
        fail(failed)
        sys.exit(failed.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain at exit that it cannot be flushed.
        sys.stdout = None
        sys.exit(0)


def fail(failed: HopmeterError) -> None:
    """Says on stderr what failed and what to do."""
    console = Console(stderr=True, highlight=False)
    console.print(f"hopmeter: {failed.what}", style="bold red", markup=False, soft_wrap=True)
    if failed.remedy:
        console.print(f"  {failed.remedy}", markup=False, soft_wrap=True)
