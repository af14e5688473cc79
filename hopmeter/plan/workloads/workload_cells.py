"""Plan the cells of a workload: the workload over each transport, and a row for each flow and path."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hopmeter.manifest import Manifest
from hopmeter.messages import split_code, tag
from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.model.condition_values import OF_FLOWS, flow_values
from hopmeter.model.conditions import CONDITIONS
from hopmeter.model.workload import NO_CODEC, PER_FLOW, Carrier, Flow, Participant, Path, Workload
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.carriers import encodes_objects, own_carriers, own_transport, together
from hopmeter.plan.expand import (
    cell_of,
    idle_states,
    join_languages,
    resolve_wait,
    settings_of,
    transports_of,
)
from hopmeter.plan.language_choice import preferred_language
from hopmeter.plan.placement.cores import NoCoresError
from hopmeter.plan.workloads.bridges import split_participants, why_not_split
from hopmeter.plan.workloads.message_counts import message_counts
from hopmeter.plan.workloads.priorities import why_no_threads
from hopmeter.plan.workloads.replays import plan_replays
from hopmeter.plan.workloads.warmup import first_due_s, warmup_s
from hopmeter.scenario import Ask, Scenario
from hopmeter.scenario.flow_faults import receivers
from hopmeter.scenario.graph import has_own_transports
from hopmeter.scenario.workload import Flow as FlowKeys
from hopmeter.schemas import is_message

DURATION = "5s"
WHOLE = "workload"
"""The text shown as the payload in the row of a whole workload, which has no payload of its own."""


def expand_workload(scenario: Scenario, ask: Ask, capabilities: Capabilities) -> Iterator[Cell]:
    """Yield the cells of a workload, one for each combination of transport and other conditions. The cells have no ids
    yet."""
    own = own_carriers(scenario.flow, capabilities.manifests)
    # If all flows name their own transports, the cell uses the manifest of the first transport, but lists the names of
    # all transports.
    only = (
        [capabilities.manifests[each.transport] for each in own.values()][:1]
        if has_own_transports(scenario.flow)
        else []
    )
    for manifest in only or transports_of(ask, capabilities):
        # The default of ordinary scenarios, two cores, is too few for all programs of a workload.
        cores = scenario.cores or ["free"]
        for values in itertools.product(ask.axes["language"], ask.axes["wait"], cores, ask.axes["heap"]):
            axes = dict(zip(("language", "wait", "cores", "heap"), values, strict=True))
            for given in [{}] if only else settings_of(manifest, ask):
                cell = _workload_cell(scenario, ask, manifest, given, axes, capabilities, own)
                yield from (cell.with_values(no_idle_states=each) for each in idle_states(scenario, capabilities))


def _workload_cell(
    scenario: Scenario,
    ask: Ask,
    manifest: Manifest,
    given: dict[str, Any],
    axes: dict[str, Any],
    capabilities: Capabilities,
    own: Mapping[str, Carrier],
) -> Cell:
    duration_s = units.seconds(ask.duration or DURATION)
    codec = _first_codec(scenario)
    participants = _participants(scenario, axes, manifest, own, capabilities)
    flows = _flows(scenario, duration_s, own)
    names = list(dict.fromkeys(each.language for each in participants))
    cell = cell_of(
        scenario,
        ask,
        manifest,
        names[0],
        given,
        {**_EACH, **axes, "language": names[0], "payload": "bytes:0"},
        capabilities.machine,
    )
    paths = tuple(
        Path(name, tuple(each.flows), units.seconds(each.deadline) if each.deadline else None)
        for name, each in scenario.path.items()
    )
    whole = cell.with_values(
        language="+".join(names),
        payload=WHOLE,
        payload_bytes=max(flow.payload_bytes for flow in flows),
        own_encoders=codec != NO_CODEC and encodes_objects(manifest),
        rate_hz=None,
        messages=max(flow.messages for flow in flows),
        warmup=0,
        limit_s=duration_s + warmup_s(scenario.flow, duration_s) + 3,
        workload=Workload(participants, flows, paths),
        **(together(own, capabilities.manifests) if has_own_transports(scenario.flow) else {}),
    )
    whole = split_participants(whole)
    dropped = (
        whole.dropped
        or _no_cores(scenario, capabilities)
        or why_not_split(whole)
        or why_no_threads(whole, capabilities)
    )
    return replace(whole, dropped=dropped)


_EACH: dict[str, Any] = {each.key: each.default for each in CONDITIONS if each.scope != "run"} | {
    "payload": "bytes:0",
    "touch": "none",
    "rate": 1.0,
}
"""Default values of conditions that belong to each flow of a workload instead of the whole cell."""


def participant_axes(scenario: Scenario, participant: str, wait: str) -> dict[str, Any]:
    """Return the conditions that determine the language of a participant."""
    own = scenario.participant[participant].wait
    return {**_EACH, "codec": _first_codec(scenario), "wait": own or wait}


def _first_codec(scenario: Scenario) -> str:
    return next((each.codec for each in scenario.flow.values() if each.codec != NO_CODEC), NO_CODEC)


def _participants(
    scenario: Scenario,
    axes: Mapping[str, Any],
    manifest: Manifest,
    own: Mapping[str, Carrier],
    capabilities: Capabilities,
) -> tuple[Participant, ...]:
    def used_by(participant: str) -> list[Manifest]:
        mine = [name for name, flow in scenario.flow.items() if participant in (flow.sender, *receivers(flow))]
        return [capabilities.manifests[own[name].transport] if name in own else manifest for name in mine]

    def language(participant: str) -> str:
        """Return a language that suits all transports that a participant uses."""
        if axes["language"] != "one":
            return str(axes["language"])
        asked = participant_axes(scenario, participant, axes["wait"])
        return preferred_language(used_by(participant), asked, capabilities.ready)

    def wait(participant: str, language: str, asked: str) -> str:
        """Return how a participant waits. If its transports resolve `asked` differently, the result is `asked`."""
        waits = {resolve_wait(asked, each.offers.get(language)) for each in used_by(participant)}
        return next(iter(waits)) if len(waits) == 1 else asked

    spoken = {name: each.language or language(name) for name, each in scenario.participant.items()}
    return tuple(
        Participant(
            name=name,
            language=spoken[name],
            wait=wait(name, spoken[name], each.wait or axes["wait"]),
            core_list=_core_list(each.cores, capabilities),
            fifo=scenario.fifo if each.fifo is None else each.fifo,
            host=each.host or "",
            threads=PER_FLOW if each.threads == PER_FLOW else str(each.threads),
        )
        for name, each in scenario.participant.items()
    )


def _core_list(word: str | None, capabilities: Capabilities) -> tuple[int, ...]:
    try:
        return capabilities.machine.core_list(word) if word else ()
    except NoCoresError:
        return ()


def _no_cores(scenario: Scenario, capabilities: Capabilities) -> str:
    """Return why the cores that a participant requests are not available on this machine, or an empty string if they
    are."""
    for name, each in scenario.participant.items():
        try:
            capabilities.machine.core_list(each.cores or "free")
        except NoCoresError as absent:
            return tag("D-NO-CORES", f"participant {name}: cores {each.cores}: {absent}")
    return ""


def _flows(scenario: Scenario, duration_s: float, own: Mapping[str, Carrier]) -> tuple[Flow, ...]:
    """Return the flows of a workload. A flow with a schedule sends messages during the warm-up and during the whole
    measurement."""
    spent_s = warmup_s(scenario.flow, duration_s)
    replayed = plan_replays(scenario.flow, duration_s, spent_s)
    counts = message_counts(scenario, duration_s, {name: each.count for name, each in replayed.items()})
    flows = [
        replace(
            _flow(number, name, each, counts[name]),
            carrier=own.get(name),
            window_s=(spent_s, duration_s) if each.returns else None,
            first_due_s=first_due_s(each, spent_s),
        )
        for number, (name, each) in enumerate(scenario.flow.items())
    ]
    return tuple(replayed[flow.name].apply(flow) if flow.name in replayed else flow for flow in flows)


def _flow(number: int, name: str, keys: FlowKeys, count: tuple[int, int]) -> Flow:
    targets = tuple(receivers(keys))
    return Flow(
        number=number,
        name=name,
        source=keys.sender,
        targets=targets,
        pattern="pubsub" if keys.to else "rpc" if len(targets) == 1 else "scatter",
        payload_bytes=units.payload_bytes(keys.payload),
        # Objects are not touched separately: encoding touches an object at the sender, and decoding touches it at the
        # receiver.
        **{each.name: getattr(keys, each.key) for each in OF_FLOWS}
        | ({"touch": "none"} if keys.codec != NO_CODEC or is_message(keys.payload) else {}),
        messages=count[0],
        warmup=count[1],
        receiver_work=keys.receiver_work,
        after=tuple(keys.after or ()),
        join=keys.join,
        every=keys.every,
        repeat=keys.repeat,
        latest=keys.latest or "",
        during=keys.during or "",
        concurrency=keys.concurrency,
        returns=keys.returns or "",
        deadline_s=units.seconds(keys.deadline) if keys.deadline else None,
    )


def rows_of(cell: Cell) -> list[Cell]:
    """Return the rows of a cell.

    A workload has a row for the whole workload, and a row for each flow, bridge and path. If a flow is measured alone,
    it has two rows: one for the cell, and one for the flow. Every other cell has one row.
    """
    if cell.workload is None or cell.dropped:
        return [cell]
    if cell.comparison.alone:
        return [cell, flow_cell(cell, cell.workload.flow(cell.comparison.alone))]
    flows = [flow_cell(cell, flow) for flow in (*cell.workload.flows, *cell.workload.bridges)]
    return [cell, *flows, *(path_cell(cell, path) for path in cell.workload.paths)]


def part_place(cell: Cell) -> tuple[int, int]:
    """Return the sort key of a row within its workload: the whole workload first, then its flows in order, then its
    paths in order."""
    if cell.workload is None or not (cell.flow or cell.path):
        return 0, 0
    if cell.flow:
        return 1, cell.workload.flow(cell.flow).number
    return 2, [each.name for each in cell.workload.paths].index(cell.path)


def whole_id(cell: Cell) -> str:
    """Return the id of the cell that contains a row's flow or path."""
    name = cell.flow or cell.path
    return cell.id.removesuffix(f".{name}") if name else cell.id


def flow_cell(cell: Cell, flow: Flow) -> Cell:
    """Return a cell that stands for the row of one flow, with the conditions of the flow."""
    workload = cell.workload
    assert workload is not None, "an ordinary cell has no flows of its own"
    ends = [workload.participant(name) for name in flow.targets]
    source = workload.participant(flow.source)
    waits = dict.fromkeys(each.wait for each in ([source] if flow.is_call else ends))
    return cell.with_values(
        id=f"{cell.id}.{flow.name}",
        flow=flow.name,
        language=join_languages((source.language, source.language, ends[0].language)),
        pattern=flow.pattern,
        wait=next(iter(waits)) if len(waits) == 1 else "+".join(each.wait for each in ends),
        **flow_values(flow) | {"work": flow.work if flow.is_call else flow.receiver_work},
        payload_bytes=flow.mean_bytes,
        own_encoders=(flow.carrier.encodes if flow.carrier else cell.carriage.own_encoders) and flow.has_codec,
        own_types=(flow.carrier or cell.carriage).own_types,
        sinks=len(flow.targets),
        messages=flow.messages,
        warmup=flow.warmup,
        **_compared_with(cell, flow.name),
        **own_transport(cell, [flow]),
    )


def path_cell(cell: Cell, path: Path) -> Cell:
    """Return a cell that stands for the row of one path, with the conditions of the path's first flow."""
    assert cell.workload is not None, "an ordinary cell has no paths"
    flows = [cell.workload.flow(name) for name in path.flows]
    first = flow_cell(cell, replace(flows[0], carrier=None))
    named = {"id": f"{cell.id}.{path.name}", "flow": "", "path": path.name, **_compared_with(cell, path.name)}
    return first.with_values(**named, pattern="pubsub", sinks=1, work="none", **own_transport(cell, flows))


def _compared_with(cell: Cell, part: str) -> dict[str, Any]:
    """Return what a flow or path is compared with: no floor, but the same flow or path on the other side."""
    other = cell.comparison.counterpart
    return {"floor": None, "floor_reason": "", "counterpart": f"{other}.{part}" if other else ""}


def drop_flow(cell: Cell, flow: str, reason: str) -> Cell:
    """Drop the cell of a workload because one of its flows cannot be measured. The reason for which the cell is dropped
    names the flow."""
    said, code = split_code(reason)
    return replace(cell, dropped=tag(code or "D-NOT-OFFERED", f"flow {flow}: {said}"))
