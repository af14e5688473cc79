from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.report import write
from tests.report import fixture
from tests.report.browser import browser
from tests.report.hands import write_asked, write_measured

__all__ = ["browser"]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fixture.build(tmp_path_factory.mktemp("results") / "made-up")


@pytest.fixture(scope="session")
def report(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write([run], tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fixture.build(tmp_path_factory.mktemp("results") / "2026-objects", fixture.OBJECTS, trials=3, messages=100)


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
