"""Kills and restarts a process in the middle of a trial."""

from __future__ import annotations

from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.restarts import restart_after_s
from hopmeter.runtime.control import Control
from hopmeter.runtime.processes.broker import BrokerProcess
from hopmeter.runtime.processes.this_host import LocalTrial


def restart_broker(cell: Cell, control: Control, part: LocalTrial, result: TrialResult) -> None:
    """Kill the broker of a trial at the planned time, start the broker again after the pause, and record in `result`
    when each step happened.

    The end of the killed broker is no error. Raises TrialFailedError if a node fails meanwhile, or if the new broker
    does not become ready.
    """
    broker: BrokerProcess = part.brokers[0]
    control.watch_until(result.start_ns + round(restart_after_s(cell) * 1e9))
    control.forget_broker(broker)
    result.killed_ns = broker.kill()
    control.watch_until(result.killed_ns + round(cell.axes.pause_s * 1e9))
    result.restarted_ns, result.ready_ns = part.start_broker_again(broker)
    control.watch_broker(broker)
