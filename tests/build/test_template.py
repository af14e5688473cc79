"""Tests that a transport created from the template contains none of the template's names."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hopmeter.build.template import create
from hopmeter.errors import UsageError

TEMPLATE = Path(__file__).parents[2] / "transports/_template"


def test_nothing_of_the_templates_name_is_left(tmp_path: Path) -> None:
    folder = create("my-bus", ["rust", "c++", "python"], TEMPLATE, tmp_path)
    for path in folder.rglob("*"):
        assert "parcel" not in path.name
        assert not path.is_file() or "parcel" not in path.read_text().lower(), path
    assert (folder / "cpp/my-bus.cpp").exists()
    assert 'name = "hopmeter-node-my-bus-rust"' in (folder / "rust/Cargo.toml").read_text()
    assert "struct MyBusTransport" in (folder / "rust/src/main.rs").read_text()


@pytest.mark.parametrize("languages", [["rust"], ["c++"], ["python"], ["rust", "python"]])
def test_only_the_languages_asked_for_are_there(tmp_path: Path, languages: list[str]) -> None:
    folder = create("thing", languages, TEMPLATE, tmp_path)
    manifest = tomllib.loads((folder / "transport.toml").read_text())
    assert list(manifest["languages"]) == languages
    assert manifest["settings"]["backlog"]["default"] == 128
    parts = {"rust": "rust", "c++": "cpp", "python": "python"}
    assert {part.name for part in folder.iterdir() if part.is_dir()} == {parts[language] for language in languages}


@pytest.mark.parametrize("name", ["My-Bus", "9p", "_x", "a--b", "a/b", ""])
def test_a_name_that_could_not_be_a_crate_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="E-NAME"):
        create(name, ["rust"], TEMPLATE, tmp_path)


def test_a_transport_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    folder = create("thing", ["rust"], TEMPLATE, tmp_path)
    (folder / "README.md").write_text("mine")
    with pytest.raises(UsageError, match="E-EXISTS"):
        create("thing", ["rust"], TEMPLATE, tmp_path)
    assert (folder / "README.md").read_text() == "mine"


def test_an_unknown_language_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`java`.*E-UNKNOWN-LANGUAGE") as refused:
        create("thing", ["java"], TEMPLATE, tmp_path)
    assert refused.value.remedy == "choose from rust, c++, python"
    assert not (tmp_path / "thing").exists()
