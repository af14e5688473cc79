"""Downloads the jars of brokers that run on Java, with Maven."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from hopmeter.build.command import run_logged
from hopmeter.manifest import Manifest

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
"""The goal of Maven that copies the jars of a project's dependencies, and of their dependencies."""
_downloading = threading.Lock()
"""Held during a download, because the adapters of a transport are built concurrently and share a broker."""


def download(manifest: Manifest, log: Path) -> None:
    """Download the jars of the transport's broker, unless all of them are already installed. Raises BuildError if Maven
    fails.

    Maven downloads from the repository that the user's Maven settings name.
    """
    broker = manifest.broker
    if broker is None or not broker.maven:
        return
    with _downloading:
        if not broker.jars.is_dir():
            _download(broker.maven, broker.jars, log, f"correct the cause, then run `hopmeter build {manifest.name}`")


def _download(artifacts: Sequence[str], jars: Path, log: Path, remedy: str) -> None:
    """Download the jars into a new directory, and rename the directory when it is complete."""
    jars.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{jars.name}-", dir=jars.parent))
    try:
        (part / "pom.xml").write_text(project(artifacts))
        options = ["--batch-mode", "--no-transfer-progress", "--file", str(part / "pom.xml")]
        copy = [COPY, "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
        run_logged(["mvn", *options, *copy], log, remedy=remedy)
        if not jars.is_dir():  # another process may have been faster
            part.rename(jars)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def project(artifacts: Sequence[str]) -> str:
    """Return a Maven project, as XML, that depends on the artifacts."""
    dependencies = "".join(f"<dependency>{_coordinates(each)}</dependency>" for each in artifacts)
    itself = _coordinates("hopmeter:broker:1")
    return f"<project><modelVersion>4.0.0</modelVersion>{itself}<dependencies>{dependencies}</dependencies></project>\n"


def _coordinates(artifact: str) -> str:
    group, name, version = artifact.split(":")
    return f"<groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
