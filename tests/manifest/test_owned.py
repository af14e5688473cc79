"""Transports that only the user can install are reported as not installed, skipped by default, and refused by name."""

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
CPP = {"waits": ["block"], "library": "theirs", "user": THEIRS}
MANIFEST = transport("brought", languages={"c++": CPP})


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


@pytest.mark.parametrize("words", [["brought"], ["brought", "--language", "c++"]])
def test_a_transport_without_another_language_fails_if_it_is_named(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build(words, MANIFEST, monkeypatch) == (1, ["c++"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["brought"], (0, ["python"])), (["brought", "--language", "c++,python"], (1, ["c++", "python"]))],
)
def test_a_transport_with_another_language_passes_it_over(
    words: list[str], expected: tuple[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = transport("brought", languages={"c++": CPP, "python": {"waits": ["block"], "library": "a package"}})
    assert build(words, both, monkeypatch) == expected


def build(words: list[str], manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """Run `hopmeter build WORDS` without the user's library; return its exit code and the languages that it built."""
    begun = []

    def build_one(target: Target) -> work.Outcome:
        begun.append(target.language)
        return work.Outcome(target, error="" if target.offer.is_installed else "absent")

    monkeypatch.delenv("BROUGHT_ROOT", raising=False)
    monkeypatch.setattr(work, "build_one", build_one)
    monkeypatch.setattr(work, "_instrument", lambda _: None)
    monkeypatch.setattr("hopmeter.build.targets.find_transports", lambda _: {manifest.name: manifest})
    app = typer.Typer()
    register(app)
    return CliRunner().invoke(app, words).exit_code, sorted(begun)


def test_a_broker_that_only_a_user_has_is_not_to_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROUGHT_ROOT", "/somewhere")
    monkeypatch.setattr(paths, "node", lambda *_: Path("node"))
    broker = {"title": "its server", "command": ["$BROUGHT_ROOT/server"], "ready": "port"}
    served = Manifest.model_validate({**MANIFEST.model_dump(by_alias=True), "broker": broker})
    answer = readiness(served, "c++")
    assert (answer.code, answer.get) == ("E-NO-BROKER", "install it and set BROUGHT_ROOT")
