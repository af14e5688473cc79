"""Builds the code of messages, and shows each result in a line."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import typer
from rich.markup import escape

from hopmeter.build.command import BuildError
from hopmeter.build.messages import MessageTarget, build_library, library_log
from hopmeter.build.work import workshop
from hopmeter.errors import HopmeterError
from hopmeter.system.terminal import Console


def build_messages(targets: Sequence[MessageTarget], system_packages: bool, as_json: bool) -> None:
    """Build these codec libraries; exit with 1 if one of them failed."""
    console = Console(stderr=as_json, highlight=False, soft_wrap=True, markup=True)
    good = [_build(console, target, system_packages, as_json) for target in targets]
    if not all(good):
        raise typer.Exit(1)


def _build(console: Console, target: MessageTarget, system_packages: bool, as_json: bool) -> bool:
    log = library_log(target, workshop() / "logs")
    started = time.monotonic()
    error: HopmeterError | None = None
    size = None
    try:
        with console.status(f"{target.title}: see {log}"):
            size = build_library(target, log, system_packages).facts["bytes"]
    except HopmeterError as failed:
        error = failed
    seconds = time.monotonic() - started
    if as_json:
        print(json.dumps(_row(target, size, error, seconds)), flush=True)
    if error is None:
        console.print(f"[green]✓[/green] {target.title:<40} {seconds:6.1f} s  {size:,} bytes")
        return True
    console.print(f"[red]✗[/red] {escape(target.title)}: {escape(error.message)}")
    if isinstance(error, BuildError) and error.detail:
        console.print(escape(error.detail), style="dim")
    console.print(f"  → {escape(error.remedy)}")
    return False


def _row(target: MessageTarget, size: int | None, error: HopmeterError | None, seconds: float) -> dict[str, object]:
    """Return one line of `hopmeter build --message … --json`."""
    return {
        "message": target.payload,
        "codec": target.codec,
        "language": target.language,
        "ready": error is None,
        "bytes": size,
        "seconds": round(seconds, 1),
        "code": error.code if error else None,
        "error": error.what if error else None,
        "remedy": error.remedy if error else None,
    }
