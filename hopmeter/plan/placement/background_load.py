"""Choose the cores on which the background load runs, or explain why they are not available."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.plan.placement.cores import Machine, NoCoresError
from hopmeter.scenario import Scenario


@dataclass(frozen=True)
class Load:
    """The cores on which a trial's background load runs, and the load that the scenario requests for them."""

    cores: tuple[int, ...]
    cpu_percent: float
    """The requested use of each core in percent, or 0 if no CPU load is requested."""
    memory_gb_s: float
    """The gigabytes per second to copy on all cores together, or 0 if no memory load is requested."""


def load_of(scenario: Scenario, machine: Machine) -> Load | None:
    """Return the background load that a scenario requests, or None if the scenario requests no load. Raises
    NoCoresError if this machine does not have the cores that the scenario requests."""
    asked = scenario.background
    if asked is None:
        return None
    cores = machine.core_list(asked.cores or "free") or machine.allowed
    return Load(tuple(dict.fromkeys(cores)), asked.cpu_percent, asked.memory_gb_s)


def drop_without_cores(cells: Iterable[Cell], scenario: Scenario, machine: Machine) -> list[Cell]:
    """Drop all cells if the cores for the background load are not available on this machine."""
    try:
        load_of(scenario, machine)
    except NoCoresError as absent:
        asked = scenario.background.cores if scenario.background else ""
        reason = tag("D-NO-CORES", f"background.cores {asked}: {absent}")
        return [replace(cell, dropped=cell.dropped or reason) for cell in cells]
    return list(cells)
