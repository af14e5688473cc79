"""Build adapters, and print a line for each result."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import typer

from hopmeter import manifest
from hopmeter.api import build_display
from hopmeter.build import system
from hopmeter.build.needs import messages_of, needed_for
from hopmeter.build.targets import Target, select_targets
from hopmeter.build.work import Outcome
from hopmeter.cli.parts.message_builds import build_messages
from hopmeter.cli.parts.stopping import stopping
from hopmeter.report.words import formatting
from hopmeter.system.terminal import Console


@dataclass(frozen=True)
class Wanted:
    """The user's selection of adapters to build."""

    transports: Sequence[str]
    languages: Sequence[str]
    scenario: str
    settings: Sequence[str]
    """Settings that select installations, as `NAME=A,B`."""


def build_adapters(wanted: Wanted, system_packages: bool, as_json: bool) -> None:
    """Build the selected adapters or, for a scenario, the adapters and message code that the scenario needs. Exits with
    1 on failure."""
    scenario, transports = wanted.scenario, wanted.transports
    chosen = (transports, wanted.languages, wanted.settings)
    targets = needed_for(scenario) if scenario else select_targets(*chosen)
    console = Console(stderr=as_json, markup=True)
    if not (transports and wanted.languages):
        targets = _installable(console, targets, named=bool(transports))
    build_display.announce_adapters(console, targets)
    outcomes = _build_all(console, targets, as_json, system_packages)
    _summarise(console, outcomes)
    if scenario:
        build_messages(messages_of(scenario), system_packages, as_json)
    if is_failure(outcomes, bool(scenario), named=bool(transports)):
        raise typer.Exit(1)


def _installable(console: Console, targets: list[Target], named: bool) -> list[Target]:
    """Return the targets that are installed or installable, and print the others.

    If a manifest has errors, they are printed too. A transport that the user named is returned even if no language is
    installed, so that the user sees its build fail.
    """
    for wrong in manifest.broken_manifests().values():
        console.print(f"left out: {wrong.message}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    installed = {target.transport for target in targets if target.offer.is_installed}
    absent = [each for each in targets if not each.offer.is_installed and (not named or each.transport in installed)]
    if absent:
        titles = ", ".join(target.title for target in absent)
        console.print(f"not installed here, skipped: {titles}", highlight=False, soft_wrap=True)
    return [target for target in targets if target not in absent]


def is_failure(outcomes: list[Outcome], for_scenario: bool, named: bool) -> bool:
    """Return whether the build failed. For a scenario, one built adapter is enough; adapters that the user named must
    all be built. If all adapters are built, unavailable libraries are not failures."""
    if for_scenario:
        return bool(outcomes) and not any(outcome.good for outcome in outcomes)
    return any(not outcome.good and (named or not outcome.is_unavailable) for outcome in outcomes)


def _build_all(console: Console, targets: list[Target], as_json: bool, system_packages: bool) -> list[Outcome]:
    outcomes: list[Outcome] = []

    def interrupted_note() -> str:
        done = f"{len(outcomes)} of {formatting.plural(len(targets), 'adapter')} done"
        finished = [outcome.target.title for outcome in outcomes]
        rest = (target.title for target in targets if target.title not in finished)
        return f"{done}, unchanged: {', '.join(rest)}"

    again = "run the command again; parts that are already built are not built again"
    building = build_display.build_adapters(console, targets, system_packages, as_json)
    with stopping(interrupted_note, again), closing(building):
        outcomes.extend(building)
    return outcomes


def _summarise(console: Console, outcomes: list[Outcome]) -> None:
    """Print one command that installs the missing system packages of all adapters."""
    missing = sorted({package for outcome in outcomes for package in outcome.missing})
    if missing:
        console.print(
            f"\nsome adapters were skipped, because system packages are missing:\n  {system.line_for(missing)}",
            highlight=False,
            soft_wrap=True,
        )
