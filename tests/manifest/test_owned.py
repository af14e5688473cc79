"""What only a user can bring: told as not installed, passed over, and refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hopmeter.build import work
from hopmeter.build.targets import Target
from hopmeter.cli.build import register
from hopmeter.manifest import Manifest, readiness
from hopmeter.system import paths
from tests.plan.capabilities import transport

THEIRS = {"variable": "BROUGHT_ROOT", "remedy": "install it and set BROUGHT_ROOT"}
MANIFEST = transport("brought", languages={"c++": {"waits": ["block"], "library": "theirs", "user": THEIRS}})


def test_it_is_not_installed_until_its_variable_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROUGHT_ROOT", raising=False)
    answer = readiness(MANIFEST, "c++")
    assert (answer.ready, answer.code) == (False, "E-NOT-INSTALLED")
    assert answer.get == "install it and set BROUGHT_ROOT"
    monkeypatch.setenv("BROUGHT_ROOT", "/somewhere")
    assert readiness(MANIFEST, "c++").code == "E-NOT-BUILT"


def test_building_it_by_name_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROUGHT_ROOT", raising=False)
    outcome = work.build_one(Target(MANIFEST, MANIFEST.offers["c++"]))
    assert (outcome.code, outcome.remedy) == ("E-NOT-INSTALLED", "install it and set BROUGHT_ROOT")


def source(folder: Path, version: str) -> str:
    if version:
        (folder / "share/core").mkdir(parents=True)
        (folder / "share/core/package.xml").write_text(
            f'<?xml version="1.0"?>\n<package format="2">\n  <version>{version}</version>\n</package>\n'
        )
    return str(folder)


@pytest.mark.parametrize("language", ["rust", "c++", "python"])
@pytest.mark.parametrize(
    ("versions", "is_good"),
    [(["9.2.0", "9.3.1"], True), (["9.2.0", ""], True), (["9.2.0", "10.1.3"], False), (["10.1.3", "", "9.2.0"], False)],
)
def test_two_releases_are_refused_before_a_node_starts(
    language: str, versions: list[str], is_good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {**THEIRS, "release": "share/core/package.xml"}
    manifest = transport("brought", languages={language: {"waits": ["block"], "library": "theirs", "user": theirs}})
    folders = [source(tmp_path / str(at), version) for at, version in enumerate(versions)]
    monkeypatch.setenv("BROUGHT_ROOT", ":".join(folders))
    monkeypatch.setattr(paths, "node", lambda *_: None)
    monkeypatch.setattr(work, "BUILDERS", {language: lambda *_: pytest.fail("it was built")})
    answer = readiness(manifest, language)
    assert (answer.code != "E-NOT-INSTALLED") == is_good
    if is_good:
        return
    assert "9 in" in answer.missing and "10 in" in answer.missing
    assert all(folder in answer.missing for folder, version in zip(folders, versions, strict=True) if version)
    outcome = work.build_one(Target(manifest, manifest.offers[language]))
    assert (outcome.code, outcome.remedy) == ("E-NOT-INSTALLED", answer.get)


def test_building_everything_passes_it_over(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(MANIFEST, MANIFEST.offers["c++"])
    monkeypatch.setattr("hopmeter.cli.parts.adapter_builds.select_targets", lambda *_: [target])
    monkeypatch.delenv("BROUGHT_ROOT", raising=False)
    app = typer.Typer()
    register(app)
    done = CliRunner().invoke(app)
    assert done.exit_code == 0, done.output
    assert "not installed here, skipped: brought (c++)" in done.output


def test_a_broker_that_only_a_user_has_is_not_to_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROUGHT_ROOT", "/somewhere")
    monkeypatch.setattr(paths, "node", lambda *_: Path("node"))
    broker = {"title": "its server", "command": ["$BROUGHT_ROOT/server"], "ready": "port"}
    served = Manifest.model_validate({**MANIFEST.model_dump(by_alias=True), "broker": broker})
    answer = readiness(served, "c++")
    assert (answer.code, answer.get) == ("E-NO-BROKER", "install it and set BROUGHT_ROOT")
