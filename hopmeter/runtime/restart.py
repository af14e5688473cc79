"""Kills and restarts a process in the middle of a trial."""

from __future__ import annotations

import time
from collections.abc import Mapping

from hopmeter.model.cell import Cell
from hopmeter.model.conditions import BROKER
from hopmeter.model.trial import TrialResult
from hopmeter.plan.restarts import last_due_s, restart_after_s
from hopmeter.runtime.control import Control
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.node import LocalNode
from hopmeter.runtime.processes.this_host import LocalTrial

LEAST_S = 0.1
"""The shortest time, in seconds, that a restarted node gets to connect."""


def restart(cell: Cell, control: Control, part: LocalTrial, links: Mapping[str, str], result: TrialResult) -> None:
    """At the planned time, kill the process that the cell restarts, and start it again after the pause. Record in
    `result` when each step happened. `links` contains the address of each link.

    The end of the killed process does not fail the trial. Raises TrialFailedError if another process fails meanwhile,
    or if a restarted broker does not become ready. If a restarted node does not become ready, `result` says why.
    """
    control.watch_until(result.start_ns + round(restart_after_s(cell) * 1e9))
    if cell.axes.restart == BROKER:
        _restart_broker(cell, control, part, result)
    else:
        _restart_sink(cell, control, part, links, result)


def _restart_broker(cell: Cell, control: Control, part: LocalTrial, result: TrialResult) -> None:
    broker = part.brokers[0]
    control.forget_broker(broker)
    result.killed_ns = broker.kill()
    control.watch_until(result.killed_ns + round(cell.axes.pause_s * 1e9))
    result.restarted_ns, result.ready_ns = part.start_broker_again(broker)
    control.watch_broker(broker)


def _restart_sink(
    cell: Cell, control: Control, part: LocalTrial, links: Mapping[str, str], result: TrialResult
) -> None:
    old = next(node for node in part.nodes if "sink" in node.roles)
    control.forget_node(old)
    result.killed_ns = part.kill_node(old)
    control.watch_until(result.killed_ns + round(cell.axes.pause_s * 1e9))
    new = part.start_node_again(old)
    control.watch_node(new)
    result.restarted_ns = new.spawned_ns
    try:
        _connect(cell, control, new, links, result)
    except TrialFailedError as failed:
        if any(node.has_ended() for node in control.nodes if node is not new):
            raise
        result.restart_error = failed.reason
        control.forget_node(new)
        part.kill_node(new)


def _connect(cell: Cell, control: Control, new: LocalNode, links: Mapping[str, str], result: TrialResult) -> None:
    """Let a restarted node connect, and wait until it is ready, but not after the schedule's last message is due."""
    end_ns = result.start_ns + round(last_due_s(cell) * 1e9)
    _await(control, new, "bound", end_ns)
    new.say({"say": "connect", "links": dict(links)})
    _await(control, new, "ready", end_ns)
    result.ready_ns = time.monotonic_ns()
    new.say({"say": "go", "start_ns": result.start_ns})


def _await(control: Control, node: LocalNode, word: str, end_ns: int) -> None:
    patience_s = max(LEAST_S, (end_ns - time.monotonic_ns()) / 1e9)
    control.receive_until(lambda: word in node.said, patience_s, word)
