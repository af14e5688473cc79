"""Tests for downloading the jars of a broker with a Maven that a script replaces."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hopmeter.build import jars
from hopmeter.build.command import BuildError
from hopmeter.manifest import Manifest
from hopmeter.system import paths
from tests.plan.capabilities import transport

ARTIFACTS = ["org.example:broker_2.13:4.1.1", "org.example:logger:1.7.36"]
BROKER = {"title": "Example", "command": ["sh"], "ready": "port", "maven": ARTIFACTS}
GOOD = """for word in "$@"; do case $word in -DoutputDirectory=*) touch "${word#*=}/broker.jar";; esac; done"""


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    monkeypatch.setattr(paths, "jar_folder", lambda: tmp_path / "jars")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "log").touch()
    return transport("thing", broker=BROKER)


def use_maven(folder: Path, script: str) -> None:
    (folder / "mvn").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "mvn").chmod(0o755)


def test_the_jars_are_downloaded_once(manifest: Manifest, tmp_path: Path) -> None:
    use_maven(tmp_path, GOOD)
    broker = manifest.broker
    assert broker is not None
    assert broker.missing == "Example"
    jars.download(manifest, tmp_path / "log")
    assert (broker.jars / "broker.jar").exists()
    assert (broker.missing, broker.pinned_version) == ("", "Example 4.1.1")
    use_maven(tmp_path, "exit 1")
    jars.download(manifest, tmp_path / "log")


def test_an_incomplete_download_leaves_nothing(manifest: Manifest, tmp_path: Path) -> None:
    use_maven(tmp_path, f"{GOOD}\necho no route >&2\nexit 1")
    with pytest.raises(BuildError) as failed:
        jars.download(manifest, tmp_path / "log")
    assert (failed.value.code, failed.value.detail.splitlines()[-1]) == ("E-COMMAND-FAILED", "no route")
    assert list((tmp_path / "jars").iterdir()) == []


def test_without_maven_the_download_fails(manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError) as failed:
        jars.download(manifest, tmp_path / "log")
    assert failed.value.code == "E-NO-TOOL"


def test_a_project_depends_on_each_artifact() -> None:
    found = ET.fromstring(jars.project(ARTIFACTS)).findall("dependencies/dependency")
    assert [":".join(part.text or "" for part in each) for each in found] == ARTIFACTS


def test_other_versions_have_other_directories(manifest: Manifest) -> None:
    assert manifest.broker is not None
    newer = manifest.broker.model_copy(update={"maven": [ARTIFACTS[0], "org.example:logger:2.0.0"]})
    assert newer.jars != manifest.broker.jars
