"""Tests for the Python of a node: the system Python, a separate environment, and errors if neither exists."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hopmeter.manifest import Manifest, interpreter, readiness
from hopmeter.messages import tag
from hopmeter.system import paths
from tests.coded import lacking
from tests.plan import capabilities

CHECKOUT = Path(__file__).parents[2]


def transport(folder: Path | None = None, language: str = "python", **part: Any) -> Manifest:
    found = capabilities.transport("apart", languages={language: {"waits": ["block"], "library": "L", **part}})
    if folder is not None:
        found._folder = folder / "apart"
        (found.folder / "python").mkdir(parents=True)
    return found


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(interpreter, "folder", lambda name: tmp_path / "environments" / name)
    interpreter.system.cache_clear()
    yield
    interpreter.system.cache_clear()


def standard_path(folder: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "python3").write_text(f"#!/bin/sh\necho '{says}'\n")
    (folder / "python3").chmod(0o755)
    monkeypatch.setattr("os.confstr", lambda _: str(folder))


def test_a_transport_without_wishes_runs_on_the_python_that_hopmeter_runs_on() -> None:
    found = interpreter.interpreter(transport().offers["python"])
    assert found is not None
    assert found.command == [sys.executable, "-P", "-m", "hopmeter.node"]


def test_an_own_environment_has_to_be_built(tmp_path: Path) -> None:
    answer = readiness(transport(tmp_path, environment="own"), "python")
    assert (answer.ready, answer.code, answer.get) == (False, "E-NOT-BUILT", "hopmeter build apart")


def test_an_environment_that_was_made_runs_the_node_and_is_lent_only_the_package(tmp_path: Path) -> None:
    program = tmp_path / "environments/apart/bin/python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    found = interpreter.interpreter(transport(environment="own").offers["python"])
    assert found is not None
    assert found.command == [str(program), str(paths.PACKAGE / "node/start.py")]


def test_the_first_python_on_the_systems_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    standard_path(tmp_path / "bin", '[[3, 12], false, ["/usr/lib/python3/dist-packages"]]', monkeypatch)
    found = interpreter.system()
    assert found.program == tmp_path / "bin/python3"
    assert found.packages == (Path("/usr/lib/python3/dist-packages"),)


@pytest.mark.parametrize(
    ("says", "missing"),
    [
        ("[[3, 9], false, []]", "E-NO-PYTHON 3.9, 3.10"),
        ("[[3, 12], true, []]", "E-NO-PYTHON python3"),
        ("something else", "E-NO-PYTHON python3"),
    ],
)
def test_without_a_python_of_the_system_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, missing: str
) -> None:
    standard_path(tmp_path / "bin", says, monkeypatch)
    answer = readiness(transport(tmp_path, interpreter="system"), "python")
    assert not answer.ready
    assert lacking(tag(answer.code, answer.missing), missing) == []
    assert "python3, 3.10" in answer.get


def test_a_python_that_is_older_than_the_one_of_hopmeter_runs_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_path(tmp_path / "bin", '[[3, 10], false, ["/usr/lib/python3/dist-packages"]]', monkeypatch)
    found = interpreter.system()
    assert found.version == (3, 10)
    assert found.command == [str(tmp_path / "bin/python3"), str(paths.PACKAGE / "node/start.py")]


def test_the_oldest_python_of_nodes_is_the_one_that_is_linted() -> None:
    linted = re.search(r"^NODE_PYTHON := (\d+)\.(\d+)$", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    assert linted is not None
    assert tuple(map(int, linted.groups())) == interpreter.OLDEST


def test_the_files_of_nodes_hide_no_module_of_a_library(tmp_path: Path) -> None:
    assert (paths.PACKAGE / "node/payloads/objects.py").exists()
    (tmp_path / "python").mkdir()
    (tmp_path / "python/adapter.py").write_text("import objects")
    command = [sys.executable, paths.PACKAGE / "node/start.py", "--describe", "--adapter", tmp_path / "python"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "No module named 'objects'" in done.stderr


@pytest.mark.parametrize(
    ("language", "part"),
    [
        ("c++", {"environment": "own"}),
        ("rust", {"interpreter": "system"}),
        ("python", {"interpreter": "system", "pip": ["thing"]}),
        ("python", {"interpreter": "system", "environment": "own"}),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(language: str, part: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="E-VALUES-CONFLICT"):
        transport(language=language, **part)
