"""Detect workloads with many more programs than cores, because programs that wait for a core increase the latencies."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hopmeter.messages import tag
from hopmeter.model.cell import Cell

MOST_PROGRAMS = 4
"""A workload with more programs per core than this gets a warning."""


def crowding(cells: Iterable[Cell], usable: Collection[int]) -> str:
    """Return a warning if a workload has many more programs than this machine has cores, otherwise an empty string."""
    found = {many for cell in cells if (many := _programs_and_cores(cell, usable))}
    programs, cores = max(found, key=lambda each: each[0] / each[1], default=(0, 1))
    if programs <= MOST_PROGRAMS * cores:
        return ""
    shared = "1 core" if cores == 1 else f"{cores} cores"
    return (
        f"The workload runs {programs} programs on {shared}, so messages also wait for a core: with more cores "
        "latencies may be shorter, fewer deadlines may be missed, and the order of the transports may differ."
    )


def why_spinning(threads: int, cores: int) -> str:
    """Return the reason to drop a cell that has more spinning threads than cores."""
    shared = "1 core" if cores == 1 else f"{cores} cores"
    return tag("D-SPINNING", f"{threads} spinning threads on {shared} would measure the scheduler")


def _programs_and_cores(cell: Cell, usable: Collection[int]) -> tuple[int, int] | None:
    """Return the number of a workload's processes on this machine and the number of cores that they share, or None if
    the cores are unknown."""
    if not cell.is_whole_workload or cell.workload is None or cell.comparison.alone:
        return None
    programs = [each for each in cell.workload.participants if not each.host]
    pinned = [each.core_list for each in programs]
    cores = {core for cores in pinned for core in cores} if all(pinned) else set(usable)
    return (sum(len(each.transports) or 1 for each in programs), len(cores)) if cores else None
