"""Tests for the CMake project that is installed before an adapter, into the transport's environment or next to the
nodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build import work
from hopmeter.build.command import BuildError
from hopmeter.build.languages import required_project
from hopmeter.build.targets import Target
from hopmeter.manifest import Manifest, interpreter
from hopmeter.manifest.interpreter import Interpreter
from hopmeter.messages import tag
from hopmeter.system import paths
from tests.build.test_python import wheel
from tests.coded import lacking
from tests.plan.capabilities import transport

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(parts LANGUAGES NONE)
file(WRITE "${CMAKE_BINARY_DIR}/made.txt" "${Python3_EXECUTABLE} $ENV{BUS} $ENV{BUS_ROOT}")
install(FILES "${CMAKE_BINARY_DIR}/made.txt" DESTINATION share)
"""
ADAPTER = """
import os, sys
import loner

class Transport:
    @staticmethod
    def version():
        return open(f"{sys.prefix}/share/made.txt").read() + os.environ["BUS"]
"""
INSTALLATION = {"where": {"edition": ["old"]}, "variables": {"BUS": "{environment}/bus"}}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("BUS_ROOT", raising=False)
    monkeypatch.setattr(paths, "checkout", lambda: None)


def bus(folder: Path, pip: list[str]) -> Manifest:
    user = {"variable": "BUS_ROOT", "remedy": "install it and set BUS_ROOT", "otherwise": "old"}
    python: dict[str, Any] = {"waits": ["block"], "library": "L", "first": "parts", "interpreter": "system"}
    python |= {"user": user, "installations": {"old": INSTALLATION | {"pip": pip}}}
    edition = {"default": "yours", "choices": ["yours", "old"], "help": "H."}
    found = transport("bus", languages={"python": python}, settings={"edition": edition})
    found._folder = folder / "transports/bus"
    for path, text in (("parts/CMakeLists.txt", PROJECT), ("python/adapter.py", ADAPTER)):
        (found.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (found.folder / path).write_text(text)
    return found


def test_an_installation_is_built_with_its_project_in_its_environment(tmp_path: Path) -> None:
    found = bus(tmp_path, [str(wheel(tmp_path, "loner"))])
    outcome = work.build_one(Target(found, found.offers["python"]))
    assert (outcome.error, outcome.detail) == ("", "")
    environment = interpreter.folder("bus-old")
    assert outcome.version == f"{environment}/bin/python {environment}/bus {environment}/bus"


def test_next_to_the_nodes_it_is_built_anew_for_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, python = tmp_path / "log", Interpreter(Path(sys.executable), ())
    made = paths.node_build_dir() / "bus-parts/share/made.txt"
    for root in ("/opt/one", "/opt/other"):
        monkeypatch.setenv("BUS_ROOT", root)
        found = bus(tmp_path, ["loner"])
        required_project.install(found, found.offers["python"], python, tmp_path / "build", log)
        assert made.read_text() == f"{sys.executable}  {root}"
    kept = tmp_path / "build/bus-parts/kept"
    kept.touch()
    required_project.install(found, found.offers["python"], python, tmp_path / "build", log)
    assert kept.exists()
    monkeypatch.setenv("BUS_ROOT", "/opt/one")
    required_project.install(found, bus(tmp_path, ["loner"]).offers["python"], python, tmp_path / "build", log)
    assert not kept.exists()


def test_a_build_finds_the_project_through_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("BUS_ROOT", "/opt/bus"), ("LINE", "7"), ("STOP", "9")):
        monkeypatch.setenv(name, text)
    table = {"7": "N7", "8": "N8"}
    variables = {"BUS_PATH": "{first}/lib:$BUS_ROOT/lib", "EDITION": "old", "LINE": table, "STOP": table, "TRIP": table}
    part = {"waits": ["block"], "library": "L", "first": "parts", "build_variables": variables}
    found = transport("bus", languages={"rust": part})
    folder = paths.node_build_dir() / "bus-parts"
    expected = {"BUS_PATH": f"{folder}/lib:/opt/bus/lib", "EDITION": "old", "LINE": "N7"}
    assert required_project.build_variables(found, found.offers["rust"]) == expected


def test_a_project_that_cannot_be_built_says_what_to_run_again(tmp_path: Path) -> None:
    found = bus(tmp_path, ["loner"])
    (found.folder / "parts/CMakeLists.txt").write_text('message(FATAL_ERROR "no such messages")')
    python = Interpreter(tmp_path / "environments/bus-old/bin/python", ())
    with pytest.raises(BuildError) as failed:
        required_project.install(found, found.offers["python"], python, tmp_path / "build", tmp_path / "log")
    assert "no such messages" in failed.value.detail
    assert "hopmeter build bus --language python" in failed.value.remedy


@pytest.mark.parametrize(
    ("marker", "said"), [("platform_machine == 'arc'", "loner==1"), ("python_version < '3'", "loner==1 Python 3.")]
)
def test_without_a_wheel_here_the_remedy_is_another_python_or_ones_own_library(
    tmp_path: Path, marker: str, said: str
) -> None:
    found = bus(tmp_path, [f"loner==1; {marker}"])
    outcome = work.build_one(Target(found, found.offers["python"]))
    assert lacking(tag(outcome.code, outcome.error), f"E-NO-WHEEL {said}") == []
    assert "install it and set BUS_ROOT" in outcome.remedy and "PYTHON=" in outcome.remedy
    assert not interpreter.folder("bus-old").exists()
