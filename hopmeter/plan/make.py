"""Plan a run: choose the cells and the seed, and give a reason for each cell that is dropped."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.model.condition_values import rates_of, sending_s
from hopmeter.model.workload import Flow
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.expand import expand
from hopmeter.plan.floors import add_floors, skip_floors
from hopmeter.plan.payloads.objects import set_payload_sizes, with_sizes
from hopmeter.plan.placement.background_load import drop_without_cores
from hopmeter.plan.placement.hosts import check_hosts, drop_without_hosts, place_on_hosts
from hopmeter.plan.placement.reach import reach_machines
from hopmeter.plan.search import begin_rounds
from hopmeter.plan.workloads.alone import add_cells_alone
from hopmeter.plan.workloads.workload_cells import expand_workload
from hopmeter.plan.workloads.workload_rules import drop_impossible
from hopmeter.scenario import Scenario, asks

FIRST_MESSAGE_S = 0.5
"""The assumed time, in seconds, to the first message of a trial. This assumption is used until a trial has been
measured."""


@dataclass(frozen=True)
class Plan:
    """The cells to measure, and the seed that shuffles their order."""

    name: str
    scenario: Scenario
    cells: list[Cell]
    seed: int

    @property
    def runnable(self) -> list[Cell]:
        """Return the cells that are not dropped."""
        return [cell for cell in self.cells if not cell.dropped]

    @property
    def seconds(self) -> float:
        """Estimate the duration of all trials in seconds, without the start and stop of nodes."""
        if self.scenario.budget_s is not None:
            return self.scenario.budget_s
        if self.scenario.search and self.scenario.search.rounds and self.scenario.budget:
            return units.seconds(self.scenario.budget)
        more = 1 if self.scenario.why else 0
        return sum((cell.schedule.trials + more) * scheduled_s(cell) for cell in self.runnable)


def scheduled_s(cell: Cell) -> float:
    """Return for how many seconds one trial sends messages according to the plan."""
    if cell.workload is not None:
        spans_s = [_sending_s(each) for each in cell.workload.flows if each.rate_hz]
        return max(spans_s, default=cell.schedule.limit_s) + cell.schedule.drain_s
    if cell.axes.begins_at_once:
        return FIRST_MESSAGE_S + cell.schedule.drain_s  # such a trial ends with its first message
    rates = rates_of(cell.axes)
    if rates is None:
        return min(
            cell.schedule.limit_s,
            max(2.0, (cell.schedule.messages + cell.schedule.warmup) * (cell.axes.ideal_s or 0.0)),
        )
    return sending_s(rates, cell.schedule.messages, cell.schedule.warmup) + cell.schedule.drain_s


def _sending_s(flow: Flow) -> float:
    """Return for how many seconds a flow with a schedule sends messages.

    If the flow sends only one message, the period after the message is not counted, because the trial ends then.
    """
    rates = rates_of(flow)
    assert rates, "the flow has a clock"
    return flow.first_due_s + sending_s(rates, flow.messages if flow.messages > 1 else 0, flow.warmup)


def make(name: str, scenario: Scenario, capabilities: Capabilities) -> Plan:
    """Plan every cell that the scenario requests, including floors. Cells that cannot be measured are dropped with a
    reason."""
    expand_cells = expand_workload if scenario.flow else expand
    check_hosts(scenario, capabilities.hosts)
    asked = [
        reach_machines(cell, scenario, ask, capabilities)
        for ask in asks(scenario)
        for cell in place_on_hosts(expand_cells(scenario, ask, capabilities), capabilities.hosts)
    ]
    judged = drop_without_cores(_drop_impossible(_distinct(asked), capabilities), scenario, capabilities.machine)
    judged = drop_without_hosts(judged, capabilities.hosts, capabilities.manifests)
    cells = skip_floors(judged) if scenario.search else add_floors(judged, capabilities)
    cells = begin_rounds(cells) if scenario.search and scenario.search.rounds else cells
    cells = add_cells_alone(cells) if scenario.alone else cells
    return Plan(name, scenario, cells, secrets.randbits(32) if scenario.seed is None else scenario.seed)


def _drop_impossible(cells: list[Cell], capabilities: Capabilities) -> list[Cell]:
    """Drop each cell that cannot be measured, with a reason.

    The sizes of objects are measured only for cells that no other rule drops, because the measurement is slow.
    """
    first = [drop_impossible(_without_sizes(cell), cell, capabilities) for cell in cells]
    return [drop_impossible(cell, cell, capabilities) for cell in set_payload_sizes(first, capabilities)]


def _without_sizes(cell: Cell) -> Cell:
    """Return the cell with the size 0 for each object, because the sizes are not known yet."""
    return with_sizes(cell, lambda _: 0) if cell.has_object else cell


def _distinct(cells: list[Cell]) -> list[Cell]:
    """Remove duplicate cells, which arise if the cases of a scenario overlap.

    If cells differ only in the length of their trials, their rows would look the same, so only the cell with the
    longest trials remains.
    """
    kept: dict[str, Cell] = {}
    for cell in cells:
        key = repr(cell.with_values(id="", messages=0, warmup=0, trials=0, limit_s=0.0))
        kept[key] = max(
            kept.get(key, cell),
            cell,
            key=lambda each: (each.schedule.trials, each.schedule.messages, each.schedule.warmup),
        )
    return list(kept.values())
