"""Build codec libraries once for all tests in this folder."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from hopmeter.schemas import Library
from tests.built import built_library

Built = Callable[[str, str, str], Library]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    log = tmp_path_factory.mktemp("logs") / "build.log"

    @functools.cache
    def build(payload: str, codec: str, language: str) -> Library:
        return built_library(payload, codec, language, log)

    return build


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs/build.log"
