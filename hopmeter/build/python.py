"""Install the packages of Python adapters, in the environment that their manifest names."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from hopmeter.build import lock
from hopmeter.build.command import BuildError, run_logged
from hopmeter.manifest.interpreter import Interpreter, NoPythonError, folder, interpreter
from hopmeter.manifest.language_part import Offer
from hopmeter.manifest.requirement import here, name

UV = [sys.executable, "-m", "uv"]


def build(offer: Offer, log: Path) -> None:
    """Install the packages that a transport's nodes need, into the Python that runs the nodes."""
    remedy = f"correct the cause, then run `hopmeter build {offer.transport} --language python`"
    if offer.environment == "own":
        make(folder(offer.transport), log, remedy)
    try:
        found = interpreter(offer)
    except NoPythonError as none:
        raise BuildError("E-NO-PYTHON", str(none), none.remedy) from none
    if found is None:
        return
    try:
        packages = [each for text in offer.pip if (each := here(text))]
    except ValueError as cause:
        raise BuildError(
            "E-VALUE-FORM", f"its pip list has an invalid marker: {cause}", "correct the list in its transport.toml"
        ) from cause
    _refuse_elsewhere(offer, found)
    if packages:
        install(found.program, packages, log, remedy)


def install(python: Path, packages: Sequence[str], log: Path, remedy: str) -> None:
    """Install packages for a Python, in the versions of the lock file if it agrees with them."""
    command = [*UV, "pip", "install", "--python", python, *lock.arguments(packages), *packages]
    run_logged(command, log, remedy=remedy)


def _refuse_elsewhere(offer: Offer, found: Interpreter) -> None:
    """Refuse a library that is not published for this processor, unless the user built it."""
    for text in offer.pip:
        if not here(text) and not is_installed(name(text), found):
            wanted = text.partition(";")[0].strip()
            raise BuildError(
                "E-NO-WHEEL",
                f"{offer.transport} in Python needs {wanted}, which has no ready package for {platform.machine()}",
                f"build it from source into {found.program}, or measure {offer.transport} in its other languages",
            )


def is_installed(distribution: str, found: Interpreter) -> bool:
    """Return whether a package is in the package folders of a Python."""
    folders = [str(folder) for folder in found.packages]
    return any(True for _ in metadata.Distribution.discover(name=distribution, path=folders))


def make(environment: Path, log: Path, remedy: str) -> None:
    """Create an environment from scratch, so that no package of an older manifest or Python stays in it."""
    run_logged([*UV, "venv", "--clear", "--python", sys.executable, environment], log, remedy=remedy)
