"""Add cells that each run one flow of a workload on its own, to show how much the other flows delay it."""

from __future__ import annotations

from collections.abc import Iterable

from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow, Workload


def add_cells_alone(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells. After each workload, there is an additional cell for each flow that can be measured on its
    own."""
    return [each for cell in cells for each in (cell, *_cells_alone(cell))]


def _cells_alone(cell: Cell) -> list[Cell]:
    if cell.workload is None or cell.dropped:
        return []
    return [
        cell.with_values(id=f"{cell.id}-alone-{flow.name}", alone=flow.name, beside=cell.id)
        for flow in flows_to_isolate(cell.workload)
    ]


def flows_to_isolate(workload: Workload) -> list[Flow]:
    """Return the flows that have a deadline and can run without some other flow of the workload."""
    known = {flow.name for flow in workload.flows}
    return [flow for flow in workload.flows if flow.deadline_s is not None and workload.chain(flow.name) < known]
