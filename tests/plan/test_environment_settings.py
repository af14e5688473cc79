"""Tests for cells with settings that select the environment of their nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.manifest import Manifest, Readiness
from hopmeter.messages import split_code
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.duets import turn_s
from hopmeter.plan.environment_notes import environment_notes
from hopmeter.plan.sides import node_side

from .capabilities import capabilities, make_plan, transport

FLAVOUR = {"default": "yours", "pattern": "bus_[a-z]+", "help": "H.", "variables": {"FLAVOUR": "{value}"}}
CONFIG = {"default": "", "file": True, "help": "H.", "variables": {"C": "{value}"}, "where": {"flavour": ["bus_b"]}}
BROKER = {"title": "busd", "where": {"flavour": ["bus_b"]}, "command": ["busd"], "ready": "port"}


def find_node(chosen: Manifest, language: str) -> Readiness:
    flavour = chosen.variables.get("FLAVOUR", "")
    absent = flavour == "bus_c"
    return Readiness(
        chosen.name,
        language,
        ready=not absent,
        version=flavour,
        missing="bus_c is not installed" if absent else "",
        get="apt install bus-c" if absent else "",
        environment=chosen.variables,
    )


def plan(**settings: Any) -> tuple[Plan, Capabilities]:
    where = capabilities(transport("bus", settings={"flavour": FLAVOUR, "config": CONFIG}, broker=BROKER))
    where = replace(where, describe=find_node, _chosen={})
    return make_plan(where, settings={"bus": settings}, payload="bytes:100"), where


@pytest.fixture(autouse=True)
def no_flavour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLAVOUR", raising=False)


def test_what_is_not_installed_drops_its_cells_alone() -> None:
    made, where = plan(flavour=["yours", "bus_a", "bus_b", "bus_c"])
    cells = [cell for cell in made.cells if cell.axes.transport == "bus"]
    assert [cell.carriage.profile for cell in cells if not cell.dropped] == ["", "flavour=bus_a", "flavour=bus_b"]
    reason, code = split_code(cells[-1].dropped)
    assert code == "D-NOT-READY" and "bus_c is not installed" in reason and "apt install bus-c" in reason
    nodes = [where.node("bus", "rust", cell.carriage.settings) for cell in cells]
    assert [node.environment for node in nodes if node] == [
        {},
        {"FLAVOUR": "bus_a"},
        {"FLAVOUR": "bus_b"},
        {"FLAVOUR": "bus_c"},
    ]


@pytest.mark.parametrize(("flavour", "environment"), [("bus_b", ""), ("yours", "bus_b")])
def test_a_file_is_named_with_its_content_where_it_has_an_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flavour: str, environment: str
) -> None:
    file = tmp_path / "tuned.xml"
    file.write_text("tuned")
    made, _ = plan(flavour=flavour, config=str(file))
    assert [split_code(cell.dropped)[1] or "" for cell in made.cells[:1]] == ["D-SETTING-IDLE" if environment else ""]
    monkeypatch.setenv("FLAVOUR", environment or "bus_a")
    made, _ = plan(flavour=flavour, config=str(file))
    assert not made.cells[0].dropped
    assert made.cells[0].carriage.settings["config"] == str(file)
    assert made.cells[0].carriage.profile.startswith("config=tuned.xml#")


def test_sides_take_no_turns_where_a_broker_serves_them() -> None:
    made, where = plan(flavour=["bus_a", "bus_b"])
    bus = where.manifests["bus"]
    sided = [cell.with_values(side="new", rate_hz=10_000.0) for cell in made.cells if cell.axes.transport == "bus"]
    assert [turn_s(cell, bus) is None for cell in sided] == [False, True]


def test_an_old_node_is_described_in_the_environment_of_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    _, where = plan()
    asked: list[tuple[list[str], dict[str, str]]] = []

    def describe(manifest: Manifest, language: str, command: list[str], environment: dict[str, str]) -> Readiness:
        asked.append((list(command), dict(environment)))
        return Readiness(manifest.name, language, ready=True, command=tuple(command), environment=environment)

    monkeypatch.setattr("hopmeter.plan.sides.describe", describe)
    assert where.node("bus", "rust", {"flavour": "bus_a"}) is not None, "known on the new side"
    old = node_side("old", where, Readiness("bus", "rust", True, command=("old",), environment={"TREE": "old"}), str)
    node = old.capabilities.node("bus", "rust", {"flavour": "bus_a"})
    assert node is not None and node.command == ("old",)
    assert asked == [(["old"], {"TREE": "old", "FLAVOUR": "bus_a"})]
    assert old.capabilities.node("bus", "python", {"flavour": "bus_a"}) == find_node(
        where.manifests["bus"].for_settings({"flavour": "bus_a"}), "python"
    )


def test_a_variable_of_the_user_that_every_cell_replaces_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAVOUR", "bus_z")
    for flavours, noted in ((["bus_a", "bus_b"], True), (["yours", "bus_a"], False)):
        made, where = plan(flavour=flavours)
        notes = environment_notes(made.runnable, where)
        assert [("FLAVOUR=bus_z" in each, "bus" in each, "flavour" in each) for each in notes] == [(True,) * 3] * noted
    monkeypatch.delenv("FLAVOUR")
    made, where = plan(flavour=["bus_a"])
    assert environment_notes(made.runnable, where) == []
