"""Tests for settings that select the nodes' environment: variables, library flavours, files, and an optional broker."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hopmeter.build.targets import choices, select_targets
from hopmeter.client import connect
from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest import Manifest, discovery, readiness
from tests.coded import refuses
from tests.plan import capabilities

ADAPTER = """
import os

class Transport:
    @staticmethod
    def version():
        return " ".join(os.environ.get(name, "none") for name in ("FLAVOUR", "BUS_CONFIG", "BUS"))
"""
FLAVOUR = {
    "default": "yours",
    "pattern": "bus_[a-z]+",
    "help": "H.",
    "variables": {"FLAVOUR": "{value}"},
    "needs": {"file": "$BUS_PATH/flavours/{value}", "remedy": "apt install $BUS_EDITION-{package}"},
}
CONFIG = {
    "default": "",
    "file": True,
    "text": "<",
    "help": "H.",
    "variables": {"BUS_CONFIG": "{value}", "BUS_READS_CONFIG": "1"},
    "where": {"flavour": ["bus_sweet"]},
}
BROKER = {
    "title": "busd",
    "where": {"flavour": ["bus_sweet"]},
    "command": ["$BUS_PATH/bin/busd"],
    "ready": "port",
    "environment": {"BUS": "{port}"},
    "own_environment": {"BUS": "listens at {port}"},
}


def bus(folder: Path, **given: Any) -> Manifest:
    python = {"waits": ["block"], "library": "bus"}
    settings = {"flavour": FLAVOUR, "config": CONFIG, "depth": {"default": 1, "help": "H."}}
    found = capabilities.transport("bus", languages={"python": python}, settings=settings, broker=BROKER, **given)
    found._folder = folder / "bus"
    (found.folder / "python").mkdir(parents=True, exist_ok=True)
    (found.folder / "python/adapter.py").write_text(ADAPTER)
    return found


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "library"
    (home / "flavours").mkdir(parents=True)
    for name in ("bus_sweet", "bus_sour"):
        (home / "flavours" / name).touch()
    (home / "bin").mkdir()
    (home / "bin/busd").write_text("#!/bin/sh\n")
    (home / "bin/busd").chmod(0o755)
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BUS_PATH", f"{tmp_path / 'nothing'}:{home}")
    monkeypatch.setenv("BUS_EDITION", "new")
    for name in ("FLAVOUR", "BUS_CONFIG", "BUS"):
        monkeypatch.delenv(name, raising=False)
    return home


def version(manifest: Manifest, **settings: Any) -> str:
    answer = readiness(manifest.for_settings(settings), "python")
    assert answer.ready, answer
    return answer.version.split()[0]


def test_each_value_has_a_node_with_its_own_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = bus(tmp_path)
    for _ in range(2):  # the second call gets its result from the cache
        assert version(known, flavour="bus_sweet") == "bus_sweet"
        assert version(known, flavour="bus_sour", depth=2) == "bus_sour"
        assert version(known) == "none"
    monkeypatch.setenv("FLAVOUR", "bus_sour")
    assert version(known) == "bus_sour"
    assert version(known, flavour="bus_sweet") == "bus_sweet"


def test_settings_that_change_no_environment_choose_none(tmp_path: Path) -> None:
    known = bus(tmp_path)
    assert known.for_settings({"depth": 5, "flavour": "yours"}) is known
    sweet = known.for_settings({"flavour": "bus_sweet"})
    assert (sweet.key, sweet.reference) == ("bus flavour=bus_sweet", "bus")
    assert sweet.for_settings({}).key == "bus"


@pytest.mark.parametrize("asked", ["option", "environment"])
def test_a_part_that_is_not_installed_has_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    if asked == "environment":
        monkeypatch.setenv("FLAVOUR", "bus_bitter")
    given = {"flavour": "bus_bitter"} if asked == "option" else {}
    answer = readiness(bus(tmp_path).for_settings(given), "python")
    assert (answer.ready, answer.code) == (False, "E-NOT-INSTALLED")
    assert "bus_bitter" in answer.missing
    assert answer.get == "apt install new-bus-bitter"


def test_an_installation_and_a_flavour_combine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "every", lambda: {"bus": made})
    monkeypatch.setattr("hopmeter.manifest.interpreter.folder", lambda name: tmp_path / "environments" / name)
    own = tmp_path / "environments/bus-old"
    for path in (own / "bin", own / "flavours"):
        path.mkdir(parents=True)
    (own / "bin/python").symlink_to(sys.executable)
    (own / "flavours/bus_plain").touch()
    variables = {"BUS_PATH": "{environment}", "BUS": "old", "BUS_EDITION": "old"}
    old = {"where": {"edition": ["old"]}, "pip": ["bus==1"], "variables": variables}
    python = {"waits": ["block"], "library": "bus", "installations": {"old": old}}
    edition = {"default": "yours", "choices": ["yours", "old"], "help": "H."}
    made = bus(tmp_path)
    made = capabilities.transport(
        "bus", languages={"python": python}, settings={"flavour": FLAVOUR, "edition": edition}
    ).model_copy()
    made._folder = tmp_path / "bus"
    plain = made.for_settings({"edition": "old", "flavour": "bus_plain"})
    assert readiness(plain, "python").version == "bus_plain none old"
    lacking = readiness(made.for_settings({"edition": "old", "flavour": "bus_sweet"}), "python")
    assert lacking.get == "apt install old-bus-sweet", "the flavour is in the user's library, not in this one"
    assert readiness(made.for_settings({"flavour": "bus_sweet"}), "python").version == "bus_sweet none none"
    built = choices(made, {"edition": ["old"], "flavour": ["bus_plain", "bus_sweet"]})
    assert [each.reference for each in built] == ["bus --set edition=old"], "one build serves all flavours"


def test_a_build_does_not_choose_a_flavour() -> None:
    with refuses(UsageError, "E-OPTION-VALUE rmw"):
        select_targets(["ros2"], settings=["rmw=rmw_zenoh_cpp"])


@pytest.mark.parametrize("value", ["bitter", "bus_", "bus_sweet; rm -rf /", "../bus_sweet"])
def test_a_value_of_another_form_is_refused(tmp_path: Path, value: str) -> None:
    with refuses(RefusedValueError, "E-VALUE-CHOICE bus_[a-z]+"):
        bus(tmp_path).settings["flavour"].parse(value)


def test_a_file_is_read_and_its_content_tells_rows_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, file = bus(tmp_path).settings["config"], tmp_path / "my config.xml"
    file.write_text("<one/>")
    monkeypatch.chdir(tmp_path)
    assert config.parse("my config.xml") == str(file)
    first = config.label(str(file))
    assert first.startswith("my_config.xml#") and " " not in first
    file.write_text("<other/>")
    assert config.label(str(file)) != first
    assert config.fill(str(file), tmp_path) == {"BUS_CONFIG": str(file), "BUS_READS_CONFIG": "1"}
    assert config.parse("<one/>") == "<one/>"
    assert config.label("<one/>") == f"text#{first.partition('#')[2]}", "the content alone matters"


@pytest.mark.parametrize("kind", ["absent", "folder", "pipe"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    with refuses(RefusedValueError, f"E-FILE-UNREADABLE {path}"):
        bus(tmp_path).settings["config"].parse(str(path))


def test_the_broker_runs_only_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, file = bus(tmp_path), tmp_path / "config.xml"
    file.touch()
    assert known.broker is None
    assert known.for_settings({"flavour": "bus_sour"}).broker is None
    needed = known.for_settings({"flavour": "bus_sweet", "config": str(file)}).broker
    assert needed is not None and needed.program == str(tmp_path / "library/bin/busd")
    assert needed.own_environment == {
        "FLAVOUR": "bus_sweet",
        "BUS_CONFIG": str(file),
        "BUS_READS_CONFIG": "1",
        "BUS": "listens at {port}",
    }
    monkeypatch.setenv("FLAVOUR", "bus_sweet")
    assert known.broker is not None, "the default stands for what the environment says"
    assert known.for_settings({"flavour": "bus_sour"}).broker is None
    assert set(discovery.select_transports(["direct"], {"bus": known})) == set()


def test_a_broker_that_is_not_installed_is_missed_only_where_it_is_needed(tmp_path: Path, library: Path) -> None:
    (library / "bin/busd").unlink()
    known = bus(tmp_path)
    assert readiness(known.for_settings({"flavour": "bus_sour"}), "python").ready
    assert readiness(known.for_settings({"flavour": "bus_sweet"}), "python").code == "E-NO-BROKER"


def test_a_broker_for_a_value_that_no_setting_has_is_refused() -> None:
    with pytest.raises(ValidationError, match="sweetness"):
        capabilities.transport("bus", broker=BROKER | {"where": {"sweetness": ["much"]}})


def test_a_program_must_begin_with_the_environment_that_its_settings_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running process cannot change what its library has already read from the environment."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/opt/ros")
    with refuses(UsageError, "E-ENVIRONMENT RMW_IMPLEMENTATION=rmw_zenoh_cpp"):
        connect("ros2", rmw="rmw_zenoh_cpp")
