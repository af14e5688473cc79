"""The structure of the cells of each shipped scenario: nodes, endpoints, links and flows.

`python -m tests.plan.shipped_structure > tests/plan/shipped_structure.json` stores it. The structure of a scenario
changes only if its file does, or what a pattern means; a change of the planner shall not change it. Of the
transports, only the way in which they carry calls matters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from hopmeter.manifest import Readiness, every
from hopmeter.model.cell import Cell
from hopmeter.plan.cores import Machine
from hopmeter.plan.expand import World, expand
from hopmeter.plan.flows import flows
from hopmeter.plan.topology import topology
from hopmeter.plan.workloads import expand_workload
from hopmeter.scenario import asks, files


def cells_of(name: str) -> Iterator[Cell]:
    """Yield all cells of a shipped scenario on a machine with four cores, where every transport is built."""
    known = every()
    ready = {
        (each.name, word): Readiness(each.name, word, ready=True) for each in known.values() for word in each.offers
    }
    world = World(known, ready, Machine((0, 1, 2, 3)))
    scenario = files.load(files.every()[name])[0]
    expand_cells = expand_workload if scenario.flow else expand
    return (cell for ask in asks(scenario) for cell in expand_cells(scenario, ask, world))


def structure(cell: Cell) -> str:
    """Return how many nodes, endpoints by role, links and flows a cell has."""
    shape = topology(cell)
    roles = Counter(each.role for each in shape.endpoints)
    ends = ", ".join(f"{many} {role}" for role, many in sorted(roles.items()))
    return f"{len(shape.nodes)} nodes, {ends}, {len(shape.links)} links, {len(flows(cell))} flows"


def structures(name: str) -> list[str]:
    """Return the different structures of the cells of a shipped scenario."""
    return sorted({structure(cell) for cell in cells_of(name) if not cell.dropped})


if __name__ == "__main__":
    print(json.dumps({name: structures(name) for name in files.every()}, indent=1))
