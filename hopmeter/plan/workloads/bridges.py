"""Add bridges between the processes of one participant.

Each adapter serves one transport, so a participant with flows over two transports runs as two processes. If a message
that arrives in one process causes a message of the participant's other process, a bridge passes the arriving message
on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.workload import PER_FLOW, Flow, Workload
from hopmeter.plan.carriers import carrier_of, carriers


def split_participants(cell: Cell) -> Cell:
    """Return a workload in which participants are split into processes, with bridges between the processes of one
    participant.

    A flow needs a bridge if its messages cause messages that another process of the receiving participant sends.
    """
    assert cell.workload is not None, "an ordinary cell has no participants"
    programs = tuple(replace(each, transports=_transports(cell, each.name)) for each in cell.workload.participants)
    return replace(cell, workload=replace(cell.workload, participants=programs, bridges=_bridges(cell)))


def _transports(cell: Cell, participant: str) -> tuple[str, ...]:
    used = carriers(cell, participant)
    return tuple(each.name for each in used) if len(used) > 1 else ()


def _bridges(cell: Cell) -> tuple[Flow, ...]:
    assert cell.workload is not None, "an ordinary cell has no flows of its own"
    needed: dict[tuple[str, str, str], list[str]] = {}
    for cause, flow in _causes(cell.workload):
        carrier = carrier_of(cell, flow)
        if carrier_of(cell, cause).key != carrier.key:
            needed.setdefault((cause.name, flow.source, carrier.key), []).append(flow.name)
    return tuple(
        _bridge(number, cell.workload.flow(cause), source, flows)
        for number, ((cause, source, _), flows) in enumerate(needed.items(), len(cell.workload.flows))
    )


def _causes(workload: Workload) -> Iterator[tuple[Flow, Flow]]:
    for flow in workload.flows:
        for name in filter(None, (*flow.after, flow.latest, flow.during, flow.returns)):
            yield workload.flow(name), flow


def _bridge(number: int, cause: Flow, participant: str, flows: Sequence[str]) -> Flow:
    """Return the bridge that passes on each message of the flow `cause`.

    If the flow makes calls, the bridge makes calls too, because a server may reply only after all work that the call
    causes is done.
    """
    return Flow(
        number=number,
        name=f"{cause.name}>{flows[0]}",
        source=participant,
        targets=(participant,),
        pattern="rpc" if cause.is_call else "pubsub",
        payload=f"bytes:{cause.payload_bytes}",
        payload_bytes=cause.payload_bytes,
        messages=cause.messages,
        warmup=cause.warmup,
        after=() if cause.is_call else (cause.name,),
        during=cause.name if cause.is_call else "",
        bridged=cause.name,
        bridged_to=tuple(flows),
    )


def why_not_split(cell: Cell) -> str:
    """Return why a participant cannot be split into several processes, or an empty string if it can."""
    assert cell.workload is not None, "an ordinary cell has no participants"
    for each in cell.workload.participants:
        used = each.transports
        if used and each.threads != PER_FLOW:
            said = f"participant {each.name}: its flows use {' and '.join(used)}, so it has {len(used)} processes"
            return tag("D-SPLIT-THREADS", f"{said}, and `threads` cannot limit them together; omit threads")
    for bridge in cell.workload.bridges:
        many = cell.workload.flow(bridge.bridged).concurrency
        if many > 1:
            said = (
                f"{many} calls of flow {bridge.bridged} are under way at once, and the bridge at {bridge.source} passes"
            )
            return tag("D-SPLIT-CALLS", f"{said} one at a time; give {bridge.bridged} and what it causes one transport")
    return ""
