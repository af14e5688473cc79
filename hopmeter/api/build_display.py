"""Build adapters, codecs and message code one by one, and print a line for each result."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from rich.markup import escape

from hopmeter.build import costs, frameworks
from hopmeter.build.command import BuildError
from hopmeter.build.messages import MessageTarget, TypeTarget, build_library, build_types, library_log, types_log
from hopmeter.build.targets import Target
from hopmeter.build.work import Outcome, build_all, workshop
from hopmeter.errors import HopmeterError
from hopmeter.hosts.coordinator.build_on_hosts import HostOutcome
from hopmeter.manifest import Manifest
from hopmeter.messages import tag
from hopmeter.report.words import formatting
from hopmeter.system.terminal import Console


def announce_adapters(console: Console, targets: Sequence[Target]) -> None:
    """Print the names of the adapters to build, and the expected build time."""
    console.print(
        f"building {formatting.plural(len(targets), 'adapter')}: {', '.join(target.title for target in targets)}",
        highlight=False,
        soft_wrap=True,
    )
    if cost := costs.format_costs(targets):
        console.print(cost, style="yellow", highlight=False, soft_wrap=True)


def build_adapters(
    console: Console, targets: Sequence[Target], system_packages: bool = False, as_json: bool = False
) -> Generator[Outcome]:
    """Build adapters. Build adapters; print and yield the result of each adapter as soon as its build ends."""
    under_way: list[str] = []

    def begin(target: Target) -> None:
        under_way.append(target.title)
        status.update(_progress(under_way))

    status = console.status(_progress(under_way))
    with closing(build_all(targets, begin, system_packages)) as built, status:
        for outcome in built:
            status.stop()  # Rich would redirect the JSON lines on stdout while a status line is shown
            under_way.remove(outcome.target.title)
            _show(console, outcome, as_json)
            yield outcome
            status.update(_progress(under_way))
            status.start()


def _progress(titles: list[str]) -> str:
    return f"{', '.join(titles)}: see {workshop() / 'logs'}"


def _show(console: Console, outcome: Outcome, as_json: bool) -> None:
    target = outcome.target
    if as_json:
        print(json.dumps(outcome.as_json()), flush=True)
    mark = "[green]✓[/green]" if outcome.good else "[red]✗[/red]"
    said = outcome.version if outcome.good else f"[red]{escape(tag(outcome.code, outcome.error))}[/red]"
    console.print(f"{mark} {target.title:<22} {outcome.seconds:6.1f} s  {said}", highlight=False, soft_wrap=True)
    if outcome.detail:
        console.print(escape(outcome.detail), style="dim", highlight=False, soft_wrap=True)
    if outcome.remedy:
        console.print(f"  → {escape(outcome.remedy)}", highlight=False, soft_wrap=True)


def build_message(
    console: Console, target: MessageTarget | TypeTarget, system_packages: bool = False, as_json: bool = False
) -> HopmeterError | None:
    """Build a codec library or the code of a message type, and print the result. Return the error, or None on
    success."""
    logs = workshop() / "logs"
    log = library_log(target, logs) if isinstance(target, MessageTarget) else types_log(target, logs)
    started = time.monotonic()
    error: HopmeterError | None = None
    size = None
    try:
        with console.status(f"{target.title}: see {log}"):
            size = _build(target, log, system_packages)
    except HopmeterError as failed:
        error = failed
    seconds = time.monotonic() - started
    if as_json:
        print(json.dumps(_row(target, size, error, seconds)), flush=True)
    if error is None:
        made = f"{size:,} bytes" if size is not None else "generated"
        console.print(f"[green]✓[/green] {target.title:<40} {seconds:6.1f} s  {made}")
    else:
        _show_error(console, target.title, error)
    return error


def _build(target: MessageTarget | TypeTarget, log: Path, system_packages: bool) -> int | None:
    """Generate and build the code of a message type. Return the encoded size of the message in bytes, or None if no
    codec encodes the message."""
    if isinstance(target, TypeTarget):
        build_types(target, log)
        return None
    return int(build_library(target, log, system_packages).facts["bytes"])


def install_framework(console: Console, name: str, manifest: Manifest | None) -> BuildError | None:
    """Install the framework of a codec, and print the result. Return the error, or None on success."""
    title = f"{name} for {manifest.reference}" if manifest else name
    log = workshop() / "logs" / f"codec-{title.replace(' ', '-')}.log"
    started = time.monotonic()
    try:
        with console.status(f"{title}: see {log}"):
            frameworks.install(name, log, manifest)
    except BuildError as failed:
        _show_error(console, title, failed)
        return failed
    console.print(f"[green]✓[/green] {title:<28} {time.monotonic() - started:6.1f} s")
    return None


def _show_error(console: Console, title: str, error: HopmeterError) -> None:
    console.print(f"[red]✗[/red] {escape(title)}: {escape(error.message)}")
    if isinstance(error, BuildError) and error.detail:
        console.print(escape(error.detail), style="dim")
    console.print(f"  → {escape(error.remedy)}")


def show_host_outcome(console: Console, outcome: HostOutcome) -> None:
    """Print whether one target was built on one host."""
    said = outcome.version if outcome.ready else tag(outcome.code, outcome.error) if outcome.code else outcome.error
    took = f"{outcome.seconds:6.1f} s" if outcome.target else ""
    mark, style = ("✓", None) if outcome.ready else ("✗", "red")
    console.print(
        f"{mark} {outcome.host:<12} {outcome.target:<22} {took}  {said}", style=style, soft_wrap=True, markup=False
    )
    if outcome.remedy:
        console.print(f"  → on {outcome.host}: {outcome.remedy}", soft_wrap=True, markup=False)


def _row(
    target: MessageTarget | TypeTarget, size: int | None, error: HopmeterError | None, seconds: float
) -> dict[str, object]:
    """Return one line of the output of `hopmeter build --message … --json`."""
    return {
        "message": target.payload if isinstance(target, MessageTarget) else target.wanted.name,
        "codec": target.codec,
        "language": target.language,
        "ready": error is None,
        "bytes": size,
        "seconds": round(seconds, 1),
        "code": error.code if error else None,
        "error": error.what if error else None,
        "remedy": error.remedy if error else None,
    }
