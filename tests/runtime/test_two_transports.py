"""In a trial over two transports, each transport has its own broker and folder, and nothing remains after the trial."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from hopmeter.manifest.tables.broker import BrokerTable
from hopmeter.model.trial import TrialResult
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.spec import node_specs
from hopmeter.plan.topology import topology
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import execute_trial
from hopmeter.runtime.work import Work
from hopmeter.system.scratch_dir import ScratchDir
from tests.coded import lacking
from tests.plan.capabilities import make_plan

from .conftest import fake_capabilities

FAKE_BROKER = Path(__file__).with_name("fake_broker.py")
SCENARIO: dict[str, Any] = {
    "transport": "fake",
    "wait": "block",
    "cores": "free",
    "duration": "100ms",
    "timeout": "20s",
    "participant": {"camera": {}, "motor": {}},
    "flow": {
        "frames": {"from": "camera", "to": "motor", "rate": 100, "transport": "other"},
        "orders": {"from": "camera", "to": "motor", "rate": 100},
    },
}


def broker(title: str, mode: str) -> BrokerTable:
    command = [sys.executable, str(FAKE_BROKER), "{port}", mode]
    return BrokerTable(title=title, command=command, ready="port", address="{host}:{port}")


def capabilities(mode: str) -> Capabilities:
    """Return two transports with different names and brokers; `other` has a broker that fails in the given way."""
    one = fake_capabilities(broker("broker of fake", "well"))
    manifest = fake_capabilities(broker("broker of other", mode)).manifests["fake"]
    other = manifest.model_copy(update={"name": "other"})
    ready = {**one.ready, ("other", "rust"): replace(one.ready["fake", "rust"], transport="other")}
    return Capabilities({**one.manifests, "other": other}, ready, one.machine)


@dataclass
class Run:
    result: TrialResult
    specs: list[dict[str, Any]]


def run(folder: Path, mode: str = "well") -> Run:
    where = capabilities(mode)
    (cell,) = make_plan(where, **SCENARIO).cells
    assert not cell.dropped
    ready = dict.fromkeys(range(len(topology(cell).nodes)), where.ready["fake", "rust"])
    others = {"fake": where.manifests["fake"]}
    work = Work(cell, 0, 0, 1, where.manifests["other"], ready, folder, others=others)
    specs: list[dict[str, Any]] = []

    def keep_specs(*given: Any) -> list[tuple[str, dict[str, Any]]]:
        made = node_specs(*given)
        specs.extend(spec for _, spec in made)
        return made

    with pytest.MonkeyPatch.context() as patch, Alarm() as alarm, ScratchDir() as ground:
        patch.setattr("hopmeter.runtime.running_trial.node_specs", keep_specs)
        with execute_trial(work, ground, alarm) as outcome:
            result = outcome.result
    assert not ground.directory.exists()
    return Run(result, specs)


@pytest.fixture(autouse=True)
def no_process_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before


def test_each_transport_has_a_broker_whose_address_its_own_nodes_get(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.result.good, done.result.reason
    found = {spec["transport"]: (spec["daemon"], spec["directory"]) for spec in done.specs}
    assert len(done.specs) == 4 and set(found) == {"fake", "other"}
    assert found["fake"][0] != found["other"][0] and found["fake"][1] != found["other"][1]
    brokers = [node["facts"]["broker"] for node in done.result.nodes if not node["endpoints"]]
    assert sorted(brokers) == ["broker of fake", "broker of other"]
    assert [node["participant"] for node in done.result.nodes if node["endpoints"]] == ["camera"] * 2 + ["motor"] * 2


@pytest.mark.parametrize(
    ("mode", "says"), [("crash", "E-BROKER-DIED broker of other"), ("brief", "E-BROKER-DIED broker of other")]
)
def test_a_broker_that_dies_fails_the_trial_and_ends_the_other_one(tmp_path: Path, mode: str, says: str) -> None:
    result = run(tmp_path, mode).result
    assert not result.good
    assert lacking(result.reason, says) == []
