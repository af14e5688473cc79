"""The flows of a cell: those of its workload, or one for each pair of an ordinary cell."""

from __future__ import annotations

from dataclasses import replace

from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow


def flows(cell: Cell) -> tuple[Flow, ...]:
    """Return the flows of a cell by their numbers; of the row of one flow, only this flow."""
    if cell.workload is None:
        one = _flow_of_axes(cell)
        return tuple(replace(one, number=number) for number in range(cell.axes.pairs))
    return tuple(flow for flow in cell.workload.flows if cell.flow in ("", flow.name))


def codecs_of_node(cell: Cell, number: int) -> tuple[str, ...]:
    """Return the codecs whose objects a node of a cell carries, each once."""
    if cell.workload is None:
        return (cell.axes.codec,) if cell.has_codec else ()
    return cell.workload.codecs_of(cell.workload.participants[number].name)


def _flow_of_axes(cell: Cell) -> Flow:
    axes, schedule = cell.axes, cell.schedule
    return Flow(
        number=0,
        targets=tuple(str(number) for number in range(axes.sinks)),
        payload=axes.payload,
        payload_bytes=cell.carriage.payload_bytes,
        pattern=axes.pattern,
        touch=axes.touch,
        codec=axes.codec,
        device=axes.device,
        share=axes.share,
        pace=axes.pace,
        rate_hz=axes.rate_hz,
        burst=axes.burst,
        messages=schedule.messages,
        warmup=schedule.warmup,
        work="none" if axes.sinks_work else axes.work,
        receiver_work=axes.work if axes.sinks_work else "none",
        dispatch=axes.dispatch,
    )
