"""The latency that ranks a cell."""

from __future__ import annotations

from hopmeter.model.cell import Cell


def headline(cell: Cell) -> str:
    """Return the latency that ranks a cell: the user's wait, from the due time if there is a schedule."""
    if cell.path:
        return "reaction"
    if cell.workload is not None and cell.axes.pattern == "pubsub" and cell.axes.pacing.awaits_return:
        return "response"  # the messages of the flow return as those of another flow
    return "gather" if cell.axes.pattern == "scatter" and cell.axes.pacing.awaits_return else cell.axes.pacing.latency
