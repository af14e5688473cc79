from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hopmeter.manifest import Readiness
from hopmeter.manifest.tables.broker import BrokerTable
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.sides import OldSide, add_old_sides
from hopmeter.plan.topology import topology
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import execute_duet, execute_trial
from hopmeter.runtime.work import Work
from hopmeter.system.scratch_dir import ScratchDir
from tests.plan.capabilities import make_plan, transport

FAKE = Path(__file__).with_name("fake_node.py")


def fake_capabilities(broker: BrokerTable | None = None) -> Capabilities:
    manifest = transport(
        "fake",
        patterns=["pubsub"],
        rpc=None,
        leftovers=["/dev/shm/{run}*"],
        open_leftovers={"/dev/shm/hmfake_*": ["/dev/shm/{name}.lock"]},
        broker=broker,
        languages={"rust": {"waits": ["block"], "library": "none"}},
        settings={"breaks": {"default": "never", "help": "What goes wrong."}},
    )
    ready = Readiness(
        "fake", "rust", ready=True, command=(sys.executable, str(FAKE)), about={"turns": True, "restarts": True}
    )
    return Capabilities({"fake": manifest}, {("fake", "rust"): ready}, Machine((0,)))


def fake_plan(**given: Any) -> Plan:
    usual = {
        "transport": "fake",
        "cores": "free",
        "messages": 20,
        "rate": 1000,
        "trials": 1,
        "timeout": "10s",
        "seed": 5,
    }
    return make_plan(fake_capabilities(), **{"rate": 1000, **usual, **given})


def programs(cell: Cell, capabilities: Capabilities) -> dict[int, Readiness]:
    """Use the fake node for all nodes of a cell."""
    return dict.fromkeys(range(len(topology(cell).nodes)), capabilities.ready["fake", "rust"])


def with_equal_sides(plan: Plan) -> Plan:
    """Give each cell an old side that equals the new one."""
    return add_old_sides(plan, OldSide("itself", fake_capabilities(), lambda cell: cell))


@dataclass
class Bench:
    """Runs single trials with the fake node."""

    folder: Path
    broker: BrokerTable | None = None

    def duet(self, *breaks: str, **given: Any) -> list[TrialResult]:
        """Run a duet whose sides fail in the given ways."""
        cells = [fake_plan(settings={"fake": {"breaks": each}}, **given).cells[0] for each in breaks]
        capabilities = fake_capabilities()
        with Alarm() as alarm, ScratchDir() as ground:
            self.ground = ground.directory
            works = [
                Work(cell, number, number, 1, capabilities.manifests["fake"], programs(cell, capabilities), self.folder)
                for number, cell in enumerate(cells)
            ]
            with execute_duet(works, 0.02, ground, alarm) as outcomes:
                self.raw = [path.stat().st_size for each in outcomes for path in each.raw_files]
                return [each.result for each in outcomes]

    def trial(self, breaks: str = "never", **given: Any) -> TrialResult:
        made = fake_plan(settings={"fake": {"breaks": breaks}}, **given)
        capabilities = fake_capabilities(self.broker)
        with Alarm() as alarm, ScratchDir() as ground:
            self.ground = ground.directory
            cell = made.cells[0]
            work = Work(cell, 0, 0, 1, capabilities.manifests["fake"], programs(cell, capabilities), self.folder)
            with execute_trial(work, ground, alarm) as outcome:
                self.raw = [path.stat().st_size for path in outcome.raw_files]
                return outcome.result


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    return Bench(tmp_path)
