"""Compute the mean size of the frames that arrived. The mean is computed because the messages of workloads and
recordings differ in size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hopmeter.model.cell import Cell
from hopmeter.model.cell_parts import HEADER_BYTES
from hopmeter.model.trial import TrialResult
from hopmeter.plan.topology import topology

LAST = ("sink", "client", "follower")
"""The roles that receive messages or replies last. Sinks that receive no message do not affect the mean frame size."""


def mean_frame_bytes(cell: Cell, results: Sequence[TrialResult]) -> float:
    """Return the mean size of the arrived frames, or the planned size if the nodes did not count bytes."""
    if cell.workload is None:
        return cell.carriage.frame_bytes
    ends = list(_ends(cell, results))
    arrived: int = sum(end.get("received", 0) for end in ends)
    if not arrived or any("received_bytes" not in end for end in ends):
        return cell.carriage.frame_bytes
    arrived_bytes: int = sum(end["received_bytes"] for end in ends)
    return HEADER_BYTES + arrived_bytes / arrived


def _ends(cell: Cell, results: Sequence[TrialResult]) -> Iterator[dict[str, Any]]:
    flows = {flow.number for flow in cell.workload.flows} if cell.workload and not cell.flow else None
    ends = [each for each in topology(cell).endpoints if each.role in LAST]
    mine = {each.id for each in ends if flows is None or each.flow in flows}
    for result in results:
        for node in result.nodes:
            yield from (end for end in node.get("endpoints", []) if end.get("id") in mine)
