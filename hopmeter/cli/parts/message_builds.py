"""Build the code of messages, and print a line for each result."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from hopmeter.api.build_display import build_message
from hopmeter.build.messages import MessageTarget, TypeTarget
from hopmeter.system.terminal import Console


def build_messages(targets: Sequence[MessageTarget | TypeTarget], system_packages: bool, as_json: bool) -> None:
    """Build the code of these messages. Exits with 1 if any build failed."""
    console = Console(stderr=as_json, highlight=False, soft_wrap=True, markup=True)
    errors = [build_message(console, target, system_packages, as_json) for target in targets]
    if any(errors):
        raise typer.Exit(1)
