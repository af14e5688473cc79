"""Tests for installations that hopmeter makes: as a replacement for the user's installation, or because a setting
selects them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hopmeter.manifest import Manifest, interpreter, readiness
from hopmeter.manifest.readiness import node_command, node_variables
from tests.plan import capabilities

VARIABLE = "BUS_ROOT"
USER = {"variable": VARIABLE, "remedy": "install it and set BUS_ROOT", "otherwise": "new"}
NEW = {"where": {"edition": ["new"]}, "pip": ["bus==2"], "variables": {"BUS": "{environment}/share"}}
OLD = {"where": {"edition": ["old"]}, "pip": ["bus==1"], "library": "bus 1", "apt": ["cmake"]}
ADAPTER = """
import os

class Transport:
    @staticmethod
    def version():
        return os.environ.get("BUS", "none") + os.environ.get("FLAVOUR", "")
"""


def bus(folder: Path, **part: Any) -> Manifest:
    python = {
        "waits": ["block"],
        "library": "the bus of the user",
        "interpreter": "system",
        "apt": ["python3-bus"],
        "after": "c++",
        "user": USER,
        "installations": {"new": NEW, "old": OLD},
        **part,
    }
    cpp = {"waits": ["block"], "library": "L", "user": {"variable": VARIABLE, "remedy": "install it"}}
    edition = {"default": "yours", "choices": ["yours", "new", "old"], "help": "H.", "languages": ["python"]}
    flavour = {"default": "", "help": "H.", "variables": {"FLAVOUR": "{value}"}}
    settings = {"edition": edition, "flavour": flavour}
    found = capabilities.transport("bus", languages={"c++": cpp, "python": python}, settings=settings)
    found._folder = folder / "bus"
    (found.folder / "python").mkdir(parents=True, exist_ok=True)
    (found.folder / "python/adapter.py").write_text(ADAPTER)
    return found


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(interpreter, "folder", lambda name: tmp_path / "environments" / name)
    monkeypatch.delenv(VARIABLE, raising=False)


def lay(folder: Path, name: str) -> Path:
    program = folder / "environments" / name / "bin/python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    return program


def test_without_one_of_the_user_hopmeter_makes_one(tmp_path: Path) -> None:
    offer = bus(tmp_path).offers["python"]
    assert (offer.pip, offer.apt, offer.environment, offer.environment_name) == (["bus==2"], [], "own", "bus-new")
    assert (offer.interpreter, offer.user, offer.after) == (None, None, None)
    assert offer.is_installed and not bus(tmp_path).offers["c++"].is_installed
    answer = readiness(bus(tmp_path), "python")
    assert (answer.code, answer.get) == ("E-NOT-BUILT", "hopmeter build bus")


def test_the_users_own_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/opt/bus")
    offer = bus(tmp_path).offers["python"]
    assert (offer.pip, offer.apt, offer.environment) == ([], ["python3-bus"], None)
    assert (offer.interpreter, offer.after, offer.variables) == ("system", "c++", {})
    assert offer.user is not None and offer.user.location == "/opt/bus"


@pytest.mark.parametrize("root", ["", "/opt/bus"])
def test_a_setting_chooses_an_installation_in_any_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    monkeypatch.setenv(VARIABLE, root)
    found = bus(tmp_path).for_settings({"edition": "old", "depth": 1})
    offer = found.offers["python"]
    assert (offer.library, offer.pip, offer.apt, offer.environment_name) == ("bus 1", ["bus==1"], ["cmake"], "bus-old")
    assert (found.reference, found.choice) == ("bus --set edition=old", ["edition=old"])
    answer = readiness(found, "python")
    assert (answer.code, answer.get) == ("E-NOT-BUILT", "hopmeter build bus --set edition=old")


def test_settings_that_choose_nothing_change_nothing(tmp_path: Path) -> None:
    known = bus(tmp_path)
    assert known.for_settings({"edition": "yours"}) is known
    assert known.for_settings({}) is known
    chosen = known.for_settings({"edition": "old"})
    assert chosen.for_settings({"edition": "yours"}).offers["python"] == known.offers["python"]
    assert chosen.offers["c++"] == known.offers["c++"]


def test_a_node_has_the_variables_of_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, program = bus(tmp_path), lay(tmp_path, "bus-new")
    command = node_command(known, "python")
    assert command is not None and command[0] == str(program)
    assert node_variables(known, "python") == {"BUS": f"{tmp_path}/environments/bus-new/share"}
    answer = readiness(known, "python")
    assert (answer.ready, answer.version) == (True, f"{tmp_path}/environments/bus-new/share")
    assert answer.environment == {"BUS": f"{tmp_path}/environments/bus-new/share"}
    monkeypatch.setenv("FLAVOUR", " with a flavour")
    assert readiness(known, "python").version.endswith("share with a flavour")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"user": USER | {"otherwise": "newer"}}, "newer"),
        ({"installations": {"new": NEW | {"where": {"editon": ["new"]}}}}, "editon"),
        ({"installations": {"new": NEW | {"where": {"edition": ["newest"]}}}}, "newest"),
        ({"installations": {"new": NEW | {"pip": []}}}, "pip"),
        ({"installations": {"A new one": NEW}}, "A new one"),
    ],
)
def test_installations_that_cannot_be_are_refused(tmp_path: Path, part: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        bus(tmp_path, **part)


@pytest.mark.parametrize(
    ("language", "made"),
    [("rust", {"new": {"pip": ["bus==2"]}}), ("rust", {"newest": {}}), ("c++", {"new": {}})],
)
def test_another_language_has_no_packages_of_its_own(language: str, made: dict[str, Any]) -> None:
    part: dict[str, Any] = {"waits": ["block"], "library": "L"}
    languages = {
        language: part | {"installations": made},
        "python": part | {"installations": {"new": {"pip": ["bus"]}}},
    }
    with pytest.raises(ValidationError) as refused:
        capabilities.transport("bus", languages=languages)
    assert "E-VALUES-CONFLICT" in str(refused.value) and next(iter(made)) in str(refused.value)
