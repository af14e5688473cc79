"""Every shipped scenario can be planned over its transports and is listed in the documentation."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.manifest import Manifest, Readiness, every
from hopmeter.plan import make
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.expand import expand
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.placement.hosts import assume_hosts
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.plan.topology import topology
from hopmeter.plan.workloads.workload_cells import expand_workload
from hopmeter.scenario import asks, files
from hopmeter.system import paths

WORKLOADS = [name for name, path in files.every().items() if files.load(path)[0].flow]

PLACE = TrialContext("0123456789abcdef", 2, 7, Path("/d"), Path("/s"), {"python": Path("/a")})


def carrier(manifest: Manifest, _codec: str) -> Readiness:
    """Return the Python node of a transport that supports NumPy objects."""
    return Readiness(manifest.name, "python", ready=True, command=(sys.executable, "-P", "-m", "hopmeter.node"))


def all_capabilities(*carrier: Any) -> Capabilities:
    """Return the capabilities of a machine with four cores and all transports built."""
    known = every()
    ready = {
        (each.name, word): Readiness(each.name, word, ready=True) for each in known.values() for word in each.offers
    }
    return Capabilities(known, ready, Machine((0, 1, 2, 3)), *carrier)


@pytest.mark.parametrize("name", files.every())
def test_the_specs_of_a_shipped_scenario_have_the_endpoints_and_links_of_the_topology(name: str) -> None:
    scenario = files.load(files.every()[name])[0]
    expand_cells = expand_workload if scenario.flow else expand
    cells = [
        each for ask in asks(scenario) for each in expand_cells(scenario, ask, all_capabilities()) if not each.dropped
    ]
    assert cells
    for one in cells[::40]:
        shape, told = topology(one), [spec for _, spec in node_specs(one, PLACE)]
        ends = [(each["id"], each["role"], each["flow"]) for spec in told for each in spec["endpoints"]]
        assert ends == [(each.id, each.role, each.flow) for node in shape.nodes for each in node]
        assert all({key: each["receivers"] for key, each in spec["links"].items()} == shape.links for spec in told)
        assert all(
            {each["flow"] for each in spec["endpoints"]} == {each["number"] for each in spec["flows"]} for spec in told
        )


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_shipped_workload_can_be_measured_over_each_of_its_transports(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path))
    scenario, where = files.load(files.every()[name])[0], all_capabilities(carrier)
    made = make(name, scenario, replace(where, hosts=assume_hosts(scenario, where.ready, where.machine)))
    assert [cell.dropped for cell in made.cells if cell.dropped] == []
    assert len({cell.axes.transport for cell in made.runnable}) >= 2


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_documentation_lists_every_shipped_workload(name: str) -> None:
    tree = paths.checkout()
    assert tree is not None
    assert f"\n| `{name}` |" in (tree / "docs/workloads.md").read_text()
