"""Installs the packages of Python adapters into the environment that the manifest names."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from hopmeter.build import lock
from hopmeter.build.command import BuildError, run_logged
from hopmeter.build.languages.old_python import provide_instrument
from hopmeter.manifest.interpreter import Interpreter, NoPythonError, folder, interpreter
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.requirement import here, name
from hopmeter.manifest.tables.language_part import Offer

UV = [sys.executable, "-m", "uv"]


def build(manifest: Manifest, offer: Offer, log: Path) -> Interpreter:
    """Install the packages of a transport's Python nodes, and return the Python interpreter that runs the nodes.

    Raises BuildError if a package cannot be installed.
    """
    remedy = f"correct the cause, then run `hopmeter build {manifest.reference} --language {offer.language}`"
    packages = _packages(offer)
    if offer.environment == "own":
        _refuse_elsewhere(manifest, offer, None)
        make(folder(offer.environment_name), log, remedy)
    try:
        found = interpreter(offer)
    except NoPythonError as none:
        raise BuildError("E-NO-PYTHON", str(none), none.remedy) from none
    assert found is not None, "its environment was made"
    provide_instrument(found, log)
    if offer.environment != "own":
        _refuse_elsewhere(manifest, offer, found)
    if packages:
        install(found.program, packages, log, remedy, offer.environment_name)
    return found


def _packages(offer: Offer) -> list[str]:
    try:
        return [each for text in offer.pip if (each := here(text))]
    except ValueError as cause:
        raise BuildError(
            "E-VALUE-FORM", f"its pip list has an invalid marker: {cause}", "correct the list in its transport.toml"
        ) from cause


def install(python: Path, packages: Sequence[str], log: Path, remedy: str, environment: str = "") -> None:
    """Install packages for a Python interpreter, in their locked versions unless these versions conflict with the
    requirements.

    `environment` names an environment that may have a lock file of its own.
    """
    command = [*UV, "pip", "install", "--python", python, *lock.arguments(packages, environment), *packages]
    run_logged(command, log, remedy=remedy)


def _refuse_elsewhere(manifest: Manifest, offer: Offer, found: Interpreter | None) -> None:
    """Raise BuildError for a package that is not published for this processor and Python version.

    A package that the user built is accepted.
    """
    for text in offer.pip:
        if not here(text) and not (found and is_installed(name(text), found)):
            wanted = text.partition(";")[0].strip()
            this = f"Python {platform.python_version()} on {platform.machine()}"
            raise BuildError(
                "E-NO-WHEEL",
                f"{offer.transport} in Python needs {wanted}, which has no ready package for {this}",
                _without_wheel(manifest, found),
            )


def _without_wheel(manifest: Manifest, found: Interpreter | None) -> str:
    """Return the remedy for a package that has no wheel for this machine."""
    if found is not None:
        return f"build it from source into {found.program}, or measure {manifest.name} in its other languages"
    user = manifest.languages["python"].user
    other = user.remedy if user else f"measure {manifest.name} in its other languages"
    return f"use a Python version that has such a package (in a checkout: PYTHON=python3.12 make all), or {other}"


def is_installed(distribution: str, found: Interpreter) -> bool:
    """Return whether a package is installed in one of a Python's package directories."""
    folders = [str(folder) for folder in found.packages]
    return any(True for _ in metadata.Distribution.discover(name=distribution, path=folders))


def make(environment: Path, log: Path, remedy: str) -> None:
    """Create an environment. If the environment already exists, it is replaced, so that no outdated packages remain in
    it."""
    run_logged([*UV, "venv", "--clear", "--python", sys.executable, environment], log, remedy=remedy)
