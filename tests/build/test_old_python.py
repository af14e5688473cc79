"""If a Python is older than the instrument's limited API, hopmeter builds a separate instrument for this Python."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build.command import BuildError
from hopmeter.build.languages import old_python
from hopmeter.manifest.interpreter import Interpreter
from hopmeter.system import paths

OLD = Interpreter(Path(sys.executable), (), version=(3, 10))


def test_a_newer_python_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_python, "run_logged", lambda *_, **__: pytest.fail("it was built"))
    old_python.provide_instrument(Interpreter(Path(sys.executable), (), version=(3, 11)), tmp_path / "log")


def test_it_is_built_for_this_python_and_put_next_to_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def build(command: list[str], _: Path, **given: Any) -> None:
        asked.update(given["env"], command=command)
        built = Path(given["env"]["CARGO_TARGET_DIR"]) / "release/lib_instrument.so"
        built.parent.mkdir(parents=True)
        built.write_text("the instrument")

    monkeypatch.setattr(old_python, "run_logged", build)
    monkeypatch.setattr(old_python.rust, "cargo", lambda: "cargo")
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "hopmeter")
    old_python.provide_instrument(OLD, tmp_path / "log")
    assert "--no-default-features" in asked["command"]
    assert asked["PYO3_PYTHON"] == sys.executable
    made = tmp_path / "hopmeter" / f"_instrument{sysconfig.get_config_var('EXT_SUFFIX')}"
    assert made.read_text() == "the instrument"


def test_an_installed_package_cannot_build_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "checkout", lambda: None)
    with pytest.raises(BuildError, match=r"3\.10.*E-NOT-PACKAGED") as refused:
        old_python.provide_instrument(OLD, tmp_path / "log")
    assert "checkout" in refused.value.remedy
