"""The load of the machine beside the nodes: the cores that it uses, or why they are not available."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.plan.placement.cores import Machine, NoCoresError
from hopmeter.scenario import Scenario


@dataclass(frozen=True)
class Load:
    """The load beside the nodes of a trial."""

    cores: tuple[int, ...]
    cpu_percent: float
    """How busy each of the cores is to be kept; 0 without a load of the cores."""
    memory_gb_s: float
    """How many gigabytes a second are to be copied, on all cores together; 0 without a load of the memory."""


def load_of(scenario: Scenario, machine: Machine) -> Load | None:
    """Return the load that a scenario requests; None if it requests none. Raises NoCoresError without its cores."""
    asked = scenario.background
    if asked is None:
        return None
    cores = machine.core_list(asked.cores or "free") or machine.allowed
    return Load(tuple(dict.fromkeys(cores)), asked.cpu_percent, asked.memory_gb_s)


def drop_without_cores(cells: Iterable[Cell], scenario: Scenario, machine: Machine) -> list[Cell]:
    """Drop all cells if the cores of the load are not available here."""
    try:
        load_of(scenario, machine)
    except NoCoresError as absent:
        asked = scenario.background.cores if scenario.background else ""
        reason = tag("D-NO-CORES", f"background.cores {asked}: {absent}")
        return [replace(cell, dropped=cell.dropped or reason) for cell in cells]
    return list(cells)
