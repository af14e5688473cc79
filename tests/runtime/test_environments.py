"""Tests for cells whose settings select the nodes' environment and whether a broker is used."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from hopmeter.manifest import Manifest, Readiness
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.cores import Machine
from hopmeter.runtime.executor import Executor
from hopmeter.store.run_folder import RunFolder
from tests.plan.capabilities import make_plan, transport

from .conftest import FAKE

FLAVOURS = ["yours", "plain", "served", "broken"]
FAKE_BROKER = Path(__file__).with_name("fake_broker.py")
NODE = (sys.executable, str(FAKE))


def broker(mode: str) -> dict[str, Any]:
    return {
        "title": "faked",
        "where": {"flavour": ["served"]},
        "command": [sys.executable, str(FAKE_BROKER), "{port}", mode],
        "ready": "port",
        "environment": {"FAKE_MASTER": "everyone of {run}"},
        "own_environment": {"FAKE_MASTER": "the broker of {flavour}"},
    }


def flavours(mode: str) -> Capabilities:
    settings = {
        "flavour": {"default": "yours", "help": "H.", "variables": {"FAKE_FLAVOUR": "{value}"}},
        "breaks": {"default": "never", "help": "H."},
    }
    rust = {"rust": {"waits": ["block"], "library": "none"}}
    made = transport("fake", patterns=["pubsub"], rpc=None, languages=rust, settings=settings, broker=broker(mode))

    def describe(chosen: Manifest, language: str) -> Readiness:
        absent = chosen.variables.get("FAKE_FLAVOUR") == "broken"
        return Readiness("fake", language, ready=not absent, command=NODE, environment=chosen.variables, get="buy it")

    ready = {("fake", "rust"): Readiness("fake", "rust", ready=True, command=NODE)}
    return Capabilities({"fake": made}, ready, Machine((0,)), describe=describe)


def run(folder: Path, mode: str = "well", **given: Any) -> RunFolder:
    where = flavours(mode)
    settings = {"fake": {"flavour": FLAVOURS}}
    usual = {"transport": "fake", "cores": "free", "messages": 20, "rate": 1000, "trials": 2, "timeout": "10s"}
    made = make_plan(where, **{**usual, "settings": settings, **given})
    about = {"cells": [cell.as_json() for cell in made.cells], "seed": made.seed}
    store = RunFolder.create(folder, "run", about)
    assert Executor(made, where, store, Console(file=io.StringIO())).run(store.trials)
    return store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FAKE_FLAVOUR", raising=False)


def test_cells_of_all_environments_interleave_and_only_one_has_a_broker(tmp_path: Path) -> None:
    store = run(tmp_path)
    order = [trial.cell for trial in sorted(store.trials, key=lambda each: each.order)]
    assert len(order) == 6 and set(order[:3]) == set(order[3:]), "each round has every flavour that there is"
    seen = {}
    for trial in store.trials:
        assert trial.good, trial.reason
        *nodes, last = trial.nodes
        brokers = [each for each in trial.nodes if each.get("facts", {}).get("broker")]
        versions = {node["version"] for node in trial.nodes if node not in brokers}
        seen.setdefault(trial.cell, []).append((versions, len(brokers)))
        if brokers:
            assert last["resources"]["rss_peak_bytes"] > 0, "the broker counts into the cell"
            assert len(nodes) == 2
    found = [each for trials in seen.values() for each in trials]
    assert sorted(found, key=str) == sorted([({"1"}, 0), ({"plain"}, 0), ({"served"}, 1)] * 2, key=str)
    logs = [path.read_text() for path in store.logs.glob("*broker.log")]
    assert len(logs) == 2 and all("told the broker of served" in log for log in logs)


def test_the_users_environment_has_its_broker_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FLAVOUR", "served")
    store = run(tmp_path, settings=None, trials=1)
    assert [node.get("facts", {}).get("broker") for node in store.trials[0].nodes if not node["endpoints"]] == ["faked"]
    assert "told the broker of served" in next(store.logs.glob("*broker.log")).read_text()


@pytest.mark.parametrize("mode", ["crash", "parent", "stubborn"])
def test_no_broker_is_left_however_its_trial_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr("hopmeter.runtime.processes.broker.GRACE_S", 0.2)
    store = run(tmp_path, mode, trials=1)
    good = {trial.good for trial in store.trials}
    assert good == ({True, False} if mode == "crash" else {True}), "a broker that fails costs its own cell alone"
    left = [each for each in psutil.process_iter(["cmdline"]) if str(FAKE_BROKER) in (each.info["cmdline"] or [])]
    assert [each for each in left if str(tmp_path) in str(each.environ().get("HOPMETER_HOME"))] == []
