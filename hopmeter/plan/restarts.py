"""Plan the restart of a process in the middle of a trial."""

from __future__ import annotations

from hopmeter.manifest import Manifest
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.condition_values import rates_of, sending_s
from hopmeter.model.conditions import BROKER, SINK

SHARE_BEFORE = 1 / 8
"""The share of the measured messages that are due before hopmeter kills the process."""


def restart_after_s(cell: Cell) -> float:
    """Return how long after the start of the schedule hopmeter kills the process, in seconds."""
    return _sending_s(cell, SHARE_BEFORE)


def last_due_s(cell: Cell) -> float:
    """Return how long after the start of the schedule its last message is due, in seconds."""
    return _sending_s(cell, 1)


def why_no_restart(cell: Cell, manifest: Manifest) -> str:
    """Return why a cell's restart is impossible, or an empty string if it is possible or the cell has no restart."""
    if not cell.axes.has_restart:
        return ""
    axes = cell.axes
    if axes.restart == BROKER and manifest.for_settings(cell.carriage.settings).broker is None:
        return tag("D-RESTART", f"{axes.transport} has no broker that could be restarted")
    if not manifest.late_processes:
        return tag("D-RESTART", f"the processes of {axes.transport} start together, so none can be restarted alone")
    if axes.restart == SINK and axes.placement != "process":
        return tag("D-RESTART", "a sink is restarted alone only if it has its own process")
    if axes.pattern != "pubsub" or axes.relays or not axes.pacing.is_scheduled or axes.begins_at_once:
        said = "a restart needs pubsub without relays, a pace with a rate, and begin linked"
        return tag("D-RESTART", said)
    if cell.nodes.hosts:
        return tag("D-RESTART", "a restart is measured on one clock, so all nodes must run on this machine")
    if restart_after_s(cell) + axes.pause_s >= last_due_s(cell):
        said = f"after the restart, which ends {restart_after_s(cell) + axes.pause_s:g} s after the start"
        return tag("D-RESTART", f"no message is due {said}; use a longer duration")
    return ""


def _sending_s(cell: Cell, share: float) -> float:
    rates = rates_of(cell.axes)
    return sending_s(rates, round(share * cell.schedule.messages), cell.schedule.warmup) if rates else 0.0
