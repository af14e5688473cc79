"""Command-line options for the conditions of a cell. Each option takes a list."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from hopmeter.model.condition import Condition
from hopmeter.model.conditions import CONDITIONS

AXES = "Axes (hopmeter measures each value of a list)"
"""The heading of these options in the help."""


def with_axes(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's `**` parameter with an option for each condition, inserted after the first parameter."""
    signature = inspect.signature(command, eval_str=True)
    first, *others = (each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD)
    parameters = [first, *map(_option, CONDITIONS), *others]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def _option(condition: Condition) -> inspect.Parameter:
    option = typer.Option(metavar="A,B,…", help=condition.option, rich_help_panel=AXES)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(condition.key, kind, default=None, annotation=Annotated[str | None, option])
