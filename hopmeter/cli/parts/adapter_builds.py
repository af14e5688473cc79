"""Builds adapters, and shows each result in a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing

import typer
from rich.markup import escape

from hopmeter import manifest
from hopmeter.build import costs, system
from hopmeter.build.needs import messages_of, needed_for
from hopmeter.build.targets import Target, select_targets
from hopmeter.build.work import Outcome, build_all, workshop
from hopmeter.cli.parts.message_builds import build_messages
from hopmeter.cli.parts.stopping import stopping
from hopmeter.messages import tag
from hopmeter.report import formatting
from hopmeter.system.terminal import Console


def build_adapters(
    transports: Sequence[str], languages: Sequence[str], scenario: str, system_packages: bool, as_json: bool
) -> None:
    """Build these adapters, or those that a scenario needs; exit with 1 if that failed."""
    targets = needed_for(scenario) if scenario else select_targets(transports, languages)
    console = Console(stderr=as_json, markup=True)
    if not transports:
        targets = _installable(console, targets)
    _announce(console, targets)
    outcomes = _build_all(console, targets, as_json, system_packages)
    _summarise(console, outcomes)
    if scenario:
        build_messages(messages_of(scenario), system_packages, as_json)
    if is_failure(outcomes, bool(scenario), named=bool(transports)):
        raise typer.Exit(1)


def _installable(console: Console, targets: list[Target]) -> list[Target]:
    """Return the targets whose library is installed or installable; list the others, and broken manifests."""
    for wrong in manifest.broken_manifests().values():
        console.print(f"left out: {wrong.message}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    absent = [target.title for target in targets if not target.offer.is_installed]
    if absent:
        console.print(f"not installed here, skipped: {', '.join(absent)}", highlight=False, soft_wrap=True)
    return [target for target in targets if target.offer.is_installed]


def is_failure(outcomes: list[Outcome], for_scenario: bool, named: bool) -> bool:
    """Return whether the build failed. A scenario needs one adapter, named adapters must all be built, and a build of
    all adapters may leave out those whose library the system lacks."""
    if for_scenario:
        return bool(outcomes) and not any(outcome.good for outcome in outcomes)
    return any(not outcome.good and (named or not outcome.missing) for outcome in outcomes)


def _announce(console: Console, targets: list[Target]) -> None:
    console.print(
        f"building {formatting.plural(len(targets), 'adapter')}: {', '.join(target.title for target in targets)}",
        highlight=False,
        soft_wrap=True,
    )
    if cost := costs.format_costs(targets):
        console.print(cost, style="yellow", highlight=False, soft_wrap=True)


def _build_all(console: Console, targets: list[Target], as_json: bool, system_packages: bool) -> list[Outcome]:
    outcomes: list[Outcome] = []
    rest, under_way = [target.title for target in targets], list[str]()

    def interrupted_note() -> str:
        done = f"{len(outcomes)} of {formatting.plural(len(targets), 'adapter')} done"
        return f"{done}, unchanged: {', '.join(rest)}"

    def begin(target: Target) -> None:
        under_way.append(target.title)
        status.update(_progress(under_way))

    status = console.status(_progress(under_way))
    again = "run the command again; it does not compile finished parts twice"
    with stopping(interrupted_note, again), closing(build_all(targets, begin, system_packages)) as built, status:
        for outcome in built:
            status.stop()  # it would redirect the output, and JSON goes elsewhere
            for titles in (rest, under_way):
                titles.remove(outcome.target.title)
            outcomes.append(outcome)
            _show(console, outcome, as_json)
            status.update(_progress(under_way))
            status.start()
    return outcomes


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


def _summarise(console: Console, outcomes: list[Outcome]) -> None:
    """Print one command that installs all missing packages, however many adapters need them."""
    missing = sorted({package for outcome in outcomes for package in outcome.missing})
    if missing:
        console.print(
            f"\nsome adapters are left out because packages of the system are missing:\n  {system.line_for(missing)}",
            highlight=False,
            soft_wrap=True,
        )
