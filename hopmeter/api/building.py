"""Build the missing parts of a plan before it is measured: adapters, message code and codec frameworks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from hopmeter.api import build_display
from hopmeter.build import costs, frameworks
from hopmeter.build.lacking import FrameworkTarget, Part, find_lacking, mark_failures
from hopmeter.build.messages import MessageTarget, TypeTarget
from hopmeter.build.targets import Target
from hopmeter.errors import HopmeterError
from hopmeter.hosts.coordinator.build_on_hosts import build_on_hosts
from hopmeter.hosts.coordinator.session import HostSession
from hopmeter.hosts.protocol.host_build import BuildOrder
from hopmeter.messages import with_remedy
from hopmeter.plan import Plan
from hopmeter.schemas import library_of
from hopmeter.schemas.payload import KIND
from hopmeter.system.terminal import Console

if TYPE_CHECKING:  # a module-level import would be circular
    from hopmeter.api.planning import Prepared

Lacking = dict[str, list[Part]]
TYPE_S = 30
"""The approximate time in seconds to generate the code of one message type, excluding the compilation of C++ nodes."""


def build_lacking(prepared: Prepared, plan_again: Callable[[], Prepared], notes: Console) -> Prepared:
    """Build the parts whose absence dropped cells, and plan the run again. If a part cannot be built, the reason is
    recorded in the cells that need the part.

    Some missing parts are known only after the adapter is built, so planning and building are repeated until no new
    part is missing.
    """
    console = Console(stderr=True, quiet=notes.quiet, markup=True, highlight=False, soft_wrap=True)
    failures: dict[str, str] = {}
    tried: set[tuple[str, str]] = set()
    while parts := _new_parts(prepared, tried):
        tried |= {(host, part.title) for host, each in parts.items() for part in each}
        failures |= _build_here(parts.pop("", []), console)
        if parts and prepared.hosts:
            _build_on_hosts(prepared.hosts, parts, console)
        library_of.cache_clear()
        prepared = plan_again()
    return mark(replace(prepared, failures=failures), prepared.plan)


def mark(prepared: Prepared, made: Plan) -> Prepared:
    """Replace the plan of a prepared run, and record in each cell why the parts that it needs could not be built."""
    return replace(prepared, plan=mark_failures(made, prepared.capabilities, prepared.failures))


def _new_parts(prepared: Prepared, tried: set[tuple[str, str]]) -> Lacking:
    lacking = find_lacking(prepared.plan, prepared.capabilities)
    rest = {host: [part for part in parts if (host, part.title) not in tried] for host, parts in lacking.items()}
    return {host: parts for host, parts in rest.items() if parts}


def _build_here(parts: Sequence[Part], console: Console) -> dict[str, str]:
    """Print which parts are built on this machine, and build them. Return why each part could not be built, keyed by
    the part's title."""
    adapters = [part for part in parts if isinstance(part, Target)]
    messages = [part for part in parts if isinstance(part, MessageTarget)]
    types = [part for part in parts if isinstance(part, TypeTarget)]
    codecs = [part for part in parts if isinstance(part, FrameworkTarget)]
    if adapters:
        build_display.announce_adapters(console, adapters)
    if messages:
        console.print(f"building the code of {', '.join(part.title for part in messages)}")
        console.print(costs.format_message_costs(messages), style="yellow")
    if types:
        console.print(f"generating the code of {', '.join(part.title for part in types)}")
        console.print(f"this takes about {TYPE_S} s for each message type", style="yellow")
    for part in codecs:
        console.print(f"installing {part.title}")
        console.print(frameworks.format_cost(part.codec), style="yellow")
    return dict(_failures(adapters, [*messages, *types], codecs, console))


def _failures(
    adapters: Sequence[Target],
    messages: Sequence[MessageTarget | TypeTarget],
    codecs: Sequence[FrameworkTarget],
    console: Console,
) -> Iterator[tuple[str, str]]:
    """Build all parts, and yield the title of each part that could not be built, with the reason."""
    with closing(build_display.build_adapters(console, adapters)) as outcomes:
        for outcome in outcomes:
            if not outcome.good:
                yield outcome.target.title, with_remedy(outcome.error, outcome.remedy)
    for message in messages:
        if error := build_display.build_message(console, message):
            yield message.title, _words(error)
    for part in codecs:
        if failed := build_display.install_framework(console, part.codec, part.manifest):
            yield part.title, _words(failed)


def _words(error: HopmeterError) -> str:
    return with_remedy(error.what, error.remedy)


def _build_on_hosts(session: HostSession, parts: Lacking, console: Console) -> None:
    """Build each part on all hosts if any host lacks the part. If a host cannot build a part, the reason is recorded in
    the cells that need the part."""
    every = {part.title: part for each in parts.values() for part in each}
    adapters = [part for part in every.values() if isinstance(part, Target)]
    messages = [part for part in every.values() if isinstance(part, MessageTarget)]
    orders = [BuildOrder(_distinct(adapters, "transport"), _distinct(adapters, "language"))] if adapters else []
    payloads = [each.removeprefix(KIND) for each in _distinct(messages, "payload")]
    languages, codecs = (_distinct(messages, name) for name in ("language", "codec"))
    orders += [BuildOrder((), languages, messages=payloads, codecs=codecs)] if messages else []
    console.print(f"building on {', '.join(parts)}: {', '.join(every)}")
    if cost := costs.format_costs(adapters):
        console.print(cost, style="yellow")
    for order in orders:
        with closing(build_on_hosts(session, order)) as outcomes:
            for outcome in outcomes:
                build_display.show_host_outcome(console, outcome)


def _distinct(targets: Sequence[Target | MessageTarget], name: str) -> list[str]:
    return list(dict.fromkeys(str(getattr(each, name)) for each in targets))
