"""Plan a run: the cells of a scenario, and the transports of this machine that can measure them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hopmeter import manifest, plan, scenario
from hopmeter.api.lossless import add_lossless_search
from hopmeter.errors import UsageError
from hopmeter.machine import limits
from hopmeter.machine.kernel import Kernel
from hopmeter.plan import Plan
from hopmeter.plan.build_remedy import building_command
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.environment_notes import environment_notes
from hopmeter.plan.payloads.own_types import type_notes
from hopmeter.plan.placement.cores import Machine, NoCoresError
from hopmeter.plan.placement.hosts import assume_hosts
from hopmeter.plan.sides import OLD, OldSide, add_old_sides, check_sides
from hopmeter.plan.workloads.crowding import crowding
from hopmeter.plan.workloads.replays import replay_notes
from hopmeter.system.terminal import Console

if TYPE_CHECKING:  # this module loads NumPy, and most plans have no hosts
    from hopmeter.hosts.coordinator.session import HostSession

BUILDS = re.compile(r"`hopmeter build ([^`]+)`")
ASSUMED = "You gave no hosts: the plan assumes that {hosts} have the same transports and cores as this machine."
LATENCY_FILE = "/dev/cpu_dma_latency"
"""Idle cores stay awake while a process holds this file open and has written 0 to it."""


@dataclass(frozen=True)
class Prepared:
    """A run's plan, the capabilities of this machine and, if the run compares two versions, the prepared old
    version."""

    plan: Plan
    capabilities: Capabilities
    old: OldSide | None = None
    notes: Sequence[str] = ()
    """Remarks about the plan for the user."""
    hosts: HostSession | None = None
    """The session with the run's hosts, or None if the run uses only this machine."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The reasons why missing parts could not be built, by part title."""


def prepare(
    asked: str,
    given: Mapping[str, Any],
    settings: Sequence[str],
    full: bool,
    against: str | None,
    console: Console,
    hosts: HostSession | None = None,
    dry: bool = False,
    build: bool = False,
) -> Prepared:
    """Plan a run on this machine or on the given hosts, and prepare the old version that `against` names.

    If `dry` is set and no hosts are given, all hosts of the scenario are assumed to have the same properties as this
    machine. With `build`, the missing parts of the cells are built first.
    """
    if against and hosts:
        remedy = "measure one side after the other on these hosts, then use `hopmeter compare`"
        raise UsageError("E-HOST-CONFLICT", "--against measures on one machine only, but you named other hosts", remedy)

    def make_plan() -> Prepared:
        return _plan(asked, given, settings, full, against, hosts, dry)

    prepared = build_first(make_plan, console) if build else make_plan()
    if not against:
        return prepared
    check_sides(prepared.plan)
    old = prepare_old_side(against, prepared.plan, prepared.capabilities, console)
    return replace(prepared, plan=add_old_sides(prepared.plan, old), old=old)


def build_first(make_plan: Callable[[], Prepared], console: Console) -> Prepared:
    """Plan a run, build the parts that the plan lacks, and plan the run again."""
    from hopmeter.api.building import build_lacking  # imported here because few runs build anything

    return build_lacking(make_plan(), make_plan, console)


def _plan(
    asked: str,
    given: Mapping[str, Any],
    settings: Sequence[str],
    full: bool,
    against: str | None,
    hosts: HostSession | None,
    dry: bool,
) -> Prepared:
    """Plan the cells of a scenario with the given options."""
    path = scenario.find(asked)
    _, toml = scenario.load(path)
    toml = scenario.lengthen(toml) if full else scenario.shorten(toml, given)
    capabilities = local_capabilities(hosts)
    toml = add_lossless_search(toml, given, capabilities)
    wanted = scenario.override(toml, given, settings, capabilities.manifests)
    if against and wanted.no_idle_states == "both" and capabilities.may_keep_awake:
        # Two sides are compared only with idle cores kept awake.
        wanted = wanted.model_copy(update={"no_idle_states": True})
    if given or settings or against:
        wanted = name_question(wanted, given, settings, against)
    notes = scenario.payload_notes(toml, given.get("payload", []), given)
    if dry and hosts is None and (assumed := assume_hosts(wanted, capabilities.ready, capabilities.machine)):
        capabilities = replace(capabilities, hosts=assumed)
        notes = [*notes, ASSUMED.format(hosts=", ".join(assumed))]
    made = plan.make(path.stem, wanted, capabilities)
    crowded = crowding(made.runnable, capabilities.machine.allowed)
    replayed = [*replay_notes(made.cells), *type_notes(made.cells, capabilities.manifests)]
    notes = [*notes, *replayed, *([crowded] if crowded else [])]
    notes += environment_notes(made.runnable, capabilities)
    return Prepared(made, capabilities, notes=notes, hosts=hosts)


def name_question(
    wanted: scenario.Scenario, given: Mapping[str, Any], settings: Sequence[str], against: str | None
) -> scenario.Scenario:
    """Return the scenario with a question that matches the given options, or with the title from the command line.
    Return the scenario unchanged if its own question still applies."""
    own = scenario.has_own_question(given, settings) or against
    words = (
        str(given["title"]) if "title" in given else scenario.question(wanted, given, settings, against) if own else ""
    )
    longer = wanted.quick and any(name in given for name in ("trials", "messages", "duration"))
    changed: dict[str, Any] = {"title": words, "question": words} if words else {}
    return wanted.model_copy(update={**changed, **({"quick": False} if longer else {})})


def fixed_options(asked: str) -> dict[str, str]:
    """Return the options that a scenario fixes, each with the reason why it is fixed."""
    wanted, _ = scenario.load(scenario.find(asked))
    return {"rate": "a search sets the rates"} if wanted.search else {}


def local_capabilities(hosts: HostSession | None = None) -> Capabilities:
    """Return the transports of this machine, their readiness, and the facts about the given hosts."""
    known = manifest.every()
    ready = manifest.readiness_of_all(known.values())
    return Capabilities(
        known,
        ready,
        Machine.here(),
        may_keep_awake=os.access(LATENCY_FILE, os.W_OK),
        highest_priority=limits.highest_priority(Kernel()),
        hosts=hosts.facts() if hosts else {},
    )


def prepare_old_side(name: str, made: Plan, capabilities: Capabilities, console: Console) -> OldSide:
    """Install or build the old version that `--against` names."""
    from hopmeter.build.versions import old_sides

    return old_sides.prepare(name, made, capabilities, lambda said: console.print(said, style="dim", markup=False))


def is_measurable(made: Plan) -> bool:
    """Return whether this machine can measure at least one cell that answers the scenario's question."""
    named = _requested_transports(made)
    return any(cell.comparison.ranked or named & set(cell.axes.transport.split("+")) for cell in made.runnable)


def check_measurable(made: Plan, command: Sequence[str] = ()) -> None:
    """Raise UsageError if this machine can measure no cell. The error names a command that builds the missing parts.

    If `command` is given, the error names this command with an option that builds the missing parts.
    """
    if not is_measurable(made):
        raise UsageError("E-NO-CELLS", "no cell of this scenario can be measured here", _remedy(made, command))


def _requested_transports(made: Plan) -> set[str]:
    """Return the transports that the user named. Named transports are included even if they are not ranked."""
    own = {flow.transport for flow in made.scenario.flow.values() if flow.transport}
    return own | {name for ask in scenario.asks(made.scenario) for name in ask.axes["transport"]}


def _remedy(made: Plan, command: Sequence[str]) -> str:
    reasons = [cell.dropped for cell in made.cells if cell.dropped]
    if building := building_command(command, reasons):
        return building
    builds = [BUILDS.search(reason) for reason in reasons]
    if reasons and all(builds):
        return _build_commands(sorted({found[1] for found in builds if found}))
    return f"for example: {reasons[0]}" if reasons else "name at least one transport"


def _build_commands(what: Sequence[str]) -> str:
    """Return the commands that build the given parts: one command for all transports, and one for each framework."""
    plain = [words for words in what if "--" not in words]
    apart = [words for words in what if "--" in words]
    return " && ".join(f"hopmeter build {words}" for words in [*([" ".join(plain)] if plain else []), *apart])


def check_still_ready(made: Plan, capabilities: Capabilities) -> None:
    """Raise UsageError if a resumed run needs a transport or core that is no longer available."""
    from hopmeter.plan.placement.background_load import load_of
    from hopmeter.plan.rules import adapters

    try:
        load_of(made.scenario, capabilities.machine)
    except NoCoresError as absent:
        raise UsageError("E-NO-LONGER-READY", f"background.cores: {absent}", "allow these cores again") from absent
    for cell in made.runnable:
        for carrier, language in adapters(cell) if cell.comparison.side != OLD else ():
            state = capabilities.node(carrier.transport, language, carrier.settings)
            if state is None or not state.ready:
                reference = capabilities.manifests[carrier.transport].for_settings(carrier.settings).reference
                raise UsageError(
                    "E-NO-LONGER-READY",
                    f"{carrier.transport} ({language}) was ready when this run began, but is not ready now",
                    f"hopmeter build {reference}",
                )
