"""The example workload contains every key; neither the example nor an imported topology overwrites a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.hosts_file import read_hosts
from hopmeter.scenario import files
from hopmeter.scenario.new_workload import EXAMPLE, create_workload
from hopmeter.scenario.workload import Flow, Participant
from hopmeter.scenario.workload import Path as PathKeys
from tests.coded import refuses


@pytest.mark.parametrize("model", [Participant, Flow, PathKeys])
def test_every_key_is_in_the_example_at_least_as_a_comment(model: type[BaseModel]) -> None:
    table = {"Participant": "participant", "Flow": "flow", "Path": "path"}[model.__name__]
    section = re.split(r"(?m)^\[", EXAMPLE.read_text())
    text = next(part for part in section if part.startswith(f"{table}]"))
    keys = [field.alias or name for name, field in model.model_fields.items()]
    assert [key for key in keys if not re.search(rf"[{{,] *{key} = ", text)] == []


def test_the_examples_in_comments_are_sound_too(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^# (\w+ = \{)", r"\1", EXAMPLE.read_text())
    text = re.sub(r"replay = [^}]*", "rate = 9 ", text)
    speaks = 'speaks = { from = "planner", to = "logger", rate = 1 }\n'
    (tmp_path / "all.toml").write_text(text.replace("[flow]\n", f"[flow]\n{speaks}"))
    scenario, _ = files.load(tmp_path / "all.toml")
    assert {"nested", "bursts", "fused", "all", "lidar"} <= scenario.flow.keys()
    assert "planner" in scenario.participant


def test_the_example_is_written_and_not_overwritten_without_force(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    create_workload(file, [], overwrite=False)
    assert files.load(file)[0].flow
    file.write_text("mine")
    with refuses(UsageError, f"E-EXISTS {file} --force"):
        create_workload(file, [], overwrite=False)
    assert file.read_text() == "mine"
    create_workload(file, [], overwrite=True)
    assert file.read_text() == EXAMPLE.read_text()


def test_a_topology_is_written_under_its_title(tmp_path: Path) -> None:
    nodes = [
        {"node_name": "a", "publishers": [{"topic_name": "t", "msg_type": "stamped1kb", "period_ms": 10}]},
        {"node_name": "b", "subscribers": [{"topic_name": "t", "msg_type": "stamped1kb"}]},
    ]
    topology = tmp_path / "table_mountain.json"
    topology.write_text(json.dumps({"nodes": nodes}))
    create_workload(tmp_path / "t.toml", [topology], overwrite=False)
    scenario, _ = files.load(tmp_path / "t.toml")
    assert (scenario.title, list(scenario.flow)) == ("Table Mountain", ["t"])


def test_a_broken_topology_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{}")
    with refuses(UsageError, "E-TOPOLOGY t.json"):
        create_workload(tmp_path / "t.toml", [tmp_path / "t.json"], overwrite=True)
    assert not (tmp_path / "t.toml").exists()


@pytest.mark.parametrize("name", ["x1", "x1.toml", "x1.5", "x1.txt"])
def test_a_name_without_its_suffix_gets_it(tmp_path: Path, name: str) -> None:
    written = create_workload(tmp_path / name, [], overwrite=False).file
    assert written == tmp_path / f"{name.removesuffix('.toml')}.toml" and files.load(written)[0].flow


def test_a_scenario_of_the_working_directory_needs_no_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x1", "quick"):
        create_workload(Path(name), [], overwrite=False)
    assert files.find("x1") == Path("x1.toml") and files.find(f"{tmp_path}/x1") == tmp_path / "x1.toml"
    assert files.find("quick") == files.every()["quick"], "a shipped scenario keeps its name"
    (tmp_path / "hosts.toml").write_text("[host.one]\nhere = true\n")
    assert list(read_hosts(Path("hosts")).host) == ["one"], "a file of hosts needs none either"
    with refuses(UsageError, "E-UNKNOWN-SCENARIO x2"):
        files.find("x2")
