"""List the flows of a cell: the flows of its workload or, in an ordinary cell, one flow per pair."""

from __future__ import annotations

from dataclasses import replace

from hopmeter.model.cell import Cell
from hopmeter.model.condition_values import flow_values
from hopmeter.model.workload import Flow


def flows(cell: Cell) -> tuple[Flow, ...]:
    """Return the flows and bridges that run in a cell, ordered by number. If the cell stands for the row of one flow,
    return only that flow."""
    if cell.workload is None:
        one = _flow_of_axes(cell)
        return tuple(replace(one, number=number) for number in range(cell.axes.pairs))
    every = (*cell.workload.flows, *cell.workload.bridges)
    if cell.flow:
        return tuple(flow for flow in every if flow.name == cell.flow)
    if not cell.comparison.alone:
        return every
    chain = cell.workload.chain(cell.comparison.alone)
    return tuple(flow for flow in every if flow.name in chain or (flow.bridged in chain and chain & {*flow.bridged_to}))


def _flow_of_axes(cell: Cell) -> Flow:
    axes, schedule = cell.axes, cell.schedule
    return Flow(
        number=0,
        targets=tuple(str(number) for number in range(axes.sinks)),
        payload_bytes=cell.carriage.payload_bytes,
        pattern=axes.pattern,
        messages=schedule.messages,
        warmup=schedule.warmup,
        **flow_values(axes) | {"work": "none" if axes.sinks_work else axes.work},
        receiver_work=axes.work if axes.sinks_work else "none",
    )
