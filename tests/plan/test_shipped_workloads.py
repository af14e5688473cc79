"""The shipped workloads: each can be planned over all its transports, and the documentation lists it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hopmeter.manifest import Manifest, Readiness, every
from hopmeter.plan import make
from hopmeter.plan.cores import Machine
from hopmeter.plan.expand import World
from hopmeter.scenario import files
from hopmeter.system import paths

WORKLOADS = [name for name, path in files.every().items() if files.load(path)[0].flow]


def carrier(manifest: Manifest, _codec: str) -> Readiness:
    """The Python node of a transport, which carries objects of NumPy."""
    return Readiness(manifest.name, "python", ready=True, command=(sys.executable, "-P", "-m", "hopmeter.node"))


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_shipped_workload_can_be_measured_over_each_of_its_transports(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path))
    known = every()
    ready = {
        (each.name, word): Readiness(each.name, word, ready=True) for each in known.values() for word in each.offers
    }
    scenario, _ = files.load(files.every()[name])
    made = make(name, scenario, World(known, ready, Machine((0, 1, 2, 3)), carrier))
    assert [cell.dropped for cell in made.cells if cell.dropped] == []
    assert len({cell.axes.transport for cell in made.runnable}) >= 2


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_documentation_lists_every_shipped_workload(name: str) -> None:
    tree = paths.checkout()
    assert tree is not None
    assert f"\n| `{name}` |" in (tree / "docs/workloads.md").read_text()
