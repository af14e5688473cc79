from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hopmeter.report import write
from tests.report.browser import browser
from tests.report.hands import write_asked, write_measured

__all__ = ["browser"]


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"report_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_load("rows")


@pytest.fixture(scope="session")
def made() -> ModuleType:
    """The builder of run folders that were never measured."""
    return _load("fixture")


@pytest.fixture(scope="session")
def run(made: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.build(tmp_path_factory.mktemp("results") / "made-up")


@pytest.fixture(scope="session")
def report(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write([run], tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session")
def objects(made: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.build(tmp_path_factory.mktemp("results") / "2026-objects", made.OBJECTS, trials=3, messages=100)


@pytest.fixture(scope="session")
def hands_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hands")
    parts = [
        write_measured(folder / "listener"),
        write_measured(folder / "publisher", side="publisher"),
        write_asked(folder / "asker"),
    ]
    return write(parts, folder / "hands.html")


@pytest.fixture(scope="session")
def objects_report(objects: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write([objects], tmp_path_factory.mktemp("report") / "objects.html")
