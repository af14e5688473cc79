"""Validates the consistency of a workload's participants, flows and paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Protocol

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables.allowed_words import LANGUAGES
from hopmeter.model.conditions import CONDITIONS
from hopmeter.scenario.flow_faults import causes, flow_faults, receivers
from hopmeter.scenario.pace_parameters import Fault
from hopmeter.scenario.values import WAITS
from hopmeter.scenario.workload import Flow, Participant, Path
from hopmeter.system.toml_files import one_of

OF_FLOWS = (*(each.key for each in CONDITIONS if each.scope != "run"), "messages", "warmup")
"""The scenario keys that a workload sets for each flow and not for the whole scenario, or that its flows imply."""
NO_WHY = (
    "a workload has no readings of its threads, because a participant's threads serve several flows; measure the flow "
    "alone, in a scenario without participants"
)
OTHERS = ("case", "search")
"""The scenario keys that a workload must not have."""


class WithWorkload(Protocol):
    """A scenario that defines a workload."""

    participant: dict[str, Participant]
    flow: dict[str, Flow]
    path: dict[str, Path]
    alone: bool


def check_workload(scenario: WithWorkload) -> None:
    """Raise RefusedValueError for the first error in the workload. The message names the key."""
    for code, what in _faults(scenario):
        raise RefusedValueError(code, what)


def _faults(scenario: WithWorkload) -> Iterator[Fault]:
    participants, flows, paths = scenario.participant, scenario.flow, scenario.path
    yield from _key_faults(scenario)
    yield from _default_faults(scenario)
    for name in flows:
        yield from flow_faults(name, flows, participants)
    yield from _axis_faults(scenario)
    yield from _circle_faults(flows)
    yield from _idle_faults(participants, flows)
    for name, path in paths.items():
        yield from _path_faults(f"path.{name}.flows", path, flows)
    for name in paths.keys() & flows.keys():
        yield "E-VALUES-CONFLICT", f"path.{name}: a flow has this name; choose another name for the path"
    if scenario.alone:
        yield from _alone_faults(flows)


def _key_faults(scenario: WithWorkload) -> Iterator[Fault]:
    for table in ("participant", "flow"):
        if not getattr(scenario, table):
            yield "E-MISSING-KEY", f"[{table}] is missing; a workload has participants and the flows between them"
    for key in OF_FLOWS:
        if getattr(scenario, key, None) is not None:
            yield "E-VALUES-CONFLICT", f"{key}: in a workload, give it for each flow, such as flow.NAME.{key}"
    for key in OTHERS:
        if getattr(scenario, key):
            yield "E-VALUES-CONFLICT", f"{key}: a workload has none; omit it"
    if getattr(scenario, "why", False):
        yield "E-WHY-WORKLOAD", f"why: {NO_WHY}"


def _default_faults(scenario: WithWorkload) -> Iterator[Fault]:
    """Check the default values for participants.

    A default language must be a single word, and a default wait must be possible for all flows of a participant.
    """
    for language in getattr(scenario, "language", None) or []:
        if language not in ("one", *LANGUAGES):
            yield "E-VALUE-CHOICE", f"language: in a workload, {one_of(language, ['one', *LANGUAGES])}"
    for wait in getattr(scenario, "wait", None) or []:
        if "+" in wait:
            yield "E-VALUE-CHOICE", f"wait: in a workload, {one_of(wait, WAITS)}"


def _axis_faults(scenario: WithWorkload) -> Iterator[Fault]:
    """Check that at least one flow uses the scenario's transport, if the scenario names a transport."""
    if has_own_transports(scenario.flow) and getattr(scenario, "transport", None) is not None:
        yield (
            "E-VALUES-CONFLICT",
            "transport: each flow names its own transport, so no flow uses the scenario's transport; omit it",
        )


def has_own_transports(flows: Mapping[str, Flow]) -> bool:
    """Return whether every flow names its own transport, so that the scenario does not need one."""
    return bool(flows) and all(flow.transport is not None for flow in flows.values())


def _circle_faults(flows: Mapping[str, Flow]) -> Iterator[Fault]:
    caused = {name: [*(flow.after or []), *filter(None, [flow.during])] for name, flow in flows.items()}
    try:
        TopologicalSorter(caused).prepare()
    except CycleError as circle:
        names = " → ".join(reversed(circle.args[1]))
        yield "E-VALUES-CONFLICT", f"flow.{circle.args[1][0]}.after: the flows {names} form a cycle"


def _idle_faults(participants: Iterable[str], flows: Mapping[str, Flow]) -> Iterator[Fault]:
    busy = {name for flow in flows.values() for name in (flow.sender, *receivers(flow))}
    for name in participants:
        if name not in busy:
            yield (
                "E-VALUES-CONFLICT",
                f"participant.{name}: no flow starts or ends here; remove it, or name it in a flow",
            )


def _alone_faults(flows: Mapping[str, Flow]) -> Iterator[Fault]:
    """Check, for a flow measured alone, that the flow has a deadline and that it does not depend on all other flows."""
    urgent = [name for name, flow in flows.items() if flow.deadline]
    if not urgent:
        yield "E-VALUES-CONFLICT", "alone: no flow has a deadline; give one to the flows that you want to measure alone"
    elif all(_chain(name, flows) == set(flows) for name in urgent):
        said = "every other flow causes it, directly or through others"
        yield "E-VALUES-CONFLICT", f"alone: `{urgent[0]}` has no company, because {said}; omit it"


def _chain(name: str, flows: Mapping[str, Flow]) -> set[str]:
    found, open_ = set[str](), [name]
    while open_:
        each = open_.pop()
        open_ += [*causes(flows[each]), *filter(None, [flows[each].returns])] if each not in found else []
        found.add(each)
    return found


def _path_faults(key: str, path: Path, flows: Mapping[str, Flow]) -> Iterator[Fault]:
    for name in path.flows:
        if name not in flows:
            yield "E-VALUE-CHOICE", f"{key}: flow {one_of(name, flows)}"
            return
    for before, name in zip(path.flows, path.flows[1:], strict=False):
        if before not in causes(flows[name]):
            caused = _list_names(causes(flows[name])) or "its own clock"
            yield "E-VALUES-CONFLICT", f"{key}: `{name}` is not caused by `{before}`, but by {caused}"


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
