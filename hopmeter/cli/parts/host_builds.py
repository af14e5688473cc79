"""Build adapters on several hosts, and print a line for each result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict

import typer

from hopmeter.api.build_display import show_host_outcome
from hopmeter.build.messages import MessageTarget
from hopmeter.build.needs import needed_for
from hopmeter.build.targets import select_targets
from hopmeter.cli.parts.stopping import stopping
from hopmeter.hosts.coordinator.build_on_hosts import HostOutcome, build_on_hosts
from hopmeter.hosts.coordinator.session import HostSession
from hopmeter.hosts.protocol.host_build import BuildOrder
from hopmeter.schemas.payload import KIND
from hopmeter.system.terminal import Console


def order_for(
    transports: Sequence[str],
    languages: Sequence[str],
    scenario: str,
    settings: Sequence[str],
    system_packages: bool,
) -> BuildOrder:
    """Return an order to build the given adapters, or the adapters that a scenario needs, on all hosts. Raises
    UsageError for settings that select no installation."""
    if settings:
        select_targets(transports, languages, settings)
    if scenario:
        targets = needed_for(scenario)
        transports, languages = [each.transport for each in targets], [each.language for each in targets]
    transports, languages = list(dict.fromkeys(transports)), list(dict.fromkeys(languages))
    return BuildOrder(transports, languages, system_packages, settings=settings)


def order_for_messages(targets: Sequence[MessageTarget], system_packages: bool) -> BuildOrder:
    """Return an order to build the code of these messages on all hosts."""
    payloads, codecs, languages = (
        list(dict.fromkeys(getattr(each, key) for each in targets)) for key in ("payload", "codec", "language")
    )
    return BuildOrder((), languages, system_packages, [each.removeprefix(KIND) for each in payloads], codecs)


def build_for_hosts(session: HostSession, order: BuildOrder, as_json: bool) -> None:
    """Carry out the build order on all hosts. Exits with 1 if the build failed on any host."""
    console = Console(stderr=as_json, highlight=False)
    what = ", ".join([*order.transports, *order.messages]) or "all adapters"
    console.print(f"building {what} on {', '.join(session.names)}", soft_wrap=True)
    outcomes: list[HostOutcome] = []
    building = build_on_hosts(session, order)
    with stopping("the builds on all hosts are stopped", "run the command again"), closing(building):
        for each in building:
            if as_json:
                print(json.dumps(asdict(each)), flush=True)
            if not (each.target == "" and (each.ready or _has_failure(outcomes, each.host))):
                show_host_outcome(console, each)
            outcomes.append(each)
    if any(not each.ready and each.target == "" for each in outcomes):
        raise typer.Exit(1)


def _has_failure(outcomes: Sequence[HostOutcome], host: str) -> bool:
    """Return whether the build of an adapter failed on this host. If an adapter failed, the output line for the host
    itself is redundant."""
    return any(each.host == host and not each.ready for each in outcomes)
