"""Apply the rules of ordinary cells to each flow of a workload. If one flow is impossible, the whole workload is
impossible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hopmeter.model.cell import Cell
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.expand import join_languages
from hopmeter.plan.rules import why_not
from hopmeter.plan.workloads.workload_cells import drop_flow, flow_cell


def drop_impossible(judged: Cell, cell: Cell, capabilities: Capabilities) -> Cell:
    """Drop a cell if the rules reject `judged`, a copy of the cell that may lack object sizes.

    For a cell of a workload, the drop reason names the flow that the rules reject.
    """
    if cell.workload is None:
        return replace(cell, dropped=why_not(judged, capabilities))
    if cell.dropped:
        return cell
    reasons = ((flow, why_not(each, capabilities)) for flow, each in _single_target_cells(judged))
    found = next(((flow, reason) for flow, reason in reasons if reason), None)
    return cell if found is None else drop_flow(cell, *found)


def _single_target_cells(cell: Cell) -> Iterator[tuple[str, Cell]]:
    """For each target of each flow of a workload, yield an ordinary cell that the rules can judge."""
    workload = cell.workload
    assert workload is not None, "an ordinary cell is judged itself"
    for flow in workload.flows:
        whole = flow_cell(cell, flow)
        source = workload.participant(flow.source)
        for name in flow.targets:
            target = workload.participant(name)
            language = join_languages((source.language, source.language, target.language))
            wait = (source if flow.is_call else target).wait
            # In an ordinary cell, the pace `closed` requires a ring. In a workload, another flow returns the messages
            # instead.
            values: dict[str, Any] = {"wait": wait, "pace": "open" if flow.returns else flow.pace}
            values |= {"language": language, "payload_bytes": flow.payload_bytes}
            yield flow.name, whole.with_values(**values, workload=None, flow="")
