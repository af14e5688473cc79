"""Choose the headline: the latency that ranks a cell."""

from __future__ import annotations

from hopmeter.model.cell import Cell


def headline(cell: Cell) -> str:
    """Return the name of the latency that ranks a cell. If messages are sent on a schedule, the latency starts at the
    due time."""
    if cell.path:
        return "reaction"
    if cell.axes.begins_at_once:
        return "first_message"
    if cell.axes.has_restart:
        return "recovery"
    if cell.workload is not None and cell.axes.pattern == "pubsub" and cell.axes.pacing.awaits_return:
        return "response"  # the messages of this flow return to its source through another flow
    return "gather" if cell.axes.pattern == "scatter" and cell.axes.pacing.awaits_return else cell.axes.pacing.latency
