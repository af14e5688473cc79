"""Tests for schema import folders: `include` in a scenario, `--include` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopmeter import manifest, scenario
from hopmeter.errors import UsageError
from hopmeter.scenario import files
from tests.coded import refuses

HEAD = 'title = "t"\nquestion = "q?"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("idl", "more"):
        (tmp_path / name).mkdir()
    (tmp_path / "a.proto").write_text("message A {}")
    return tmp_path


def write(home: Path, text: str) -> Path:
    path = home / "s.toml"
    path.write_text(f"{HEAD}{text.format(payload=payload(home))}")
    return path


def load(home: Path, text: str, **given: Any) -> scenario.Scenario:
    _, table = files.load(write(home, text))
    return scenario.override(table, given, [], manifest.every())


def payload(home: Path, *folders: str) -> str:
    return "".join([f"message:{home}/a.proto:A", *(f":include={folder}" for folder in folders)])


def test_folders_of_a_file_are_relative_to_it(home: Path) -> None:
    text = 'include = ["idl", "{payload}"]\npayload = "{payload}"\n'.replace('"{payload}"]', '"more"]')
    assert load(home, text).payload == [payload(home, f"{home}/idl", f"{home}/more")]


def test_folders_belong_to_the_payloads_of_cases_looks_and_flows(home: Path) -> None:
    text = 'include = ["idl"]\n[[case]]\npayload = ["{payload}", "timing"]\n[look]\npayload = "{payload}"\n'
    wanted, found = payload(home, f"{home}/idl"), files.load(write(home, text))[0]
    assert found.look is not None
    assert (found.case[0].payload, found.look.payload) == ([wanted, "timing"], [wanted])
    flow = (
        'include = ["idl"]\n[participant]\na = {{}}\nb = {{}}\n[flow.f]\nfrom = "a"\nto = "b"\nrate = 10\n'
        'payload = "{payload}"\ncodec = "protobuf"\n'
    )
    assert load(home, flow).flow["f"].payload == wanted


def test_folders_of_the_command_line_come_first(home: Path) -> None:
    found = load(home, 'include = ["idl"]\n', payload=[payload(home)], include=[f"{home}/more"])
    assert found.payload == [payload(home, f"{home}/more", f"{home}/idl")]


def test_a_folder_that_does_not_exist_is_refused(home: Path) -> None:
    with refuses(UsageError, "E-FILE-UNREADABLE nowhere"):
        load(home, 'include = ["nowhere"]\npayload = "{payload}"\n')
