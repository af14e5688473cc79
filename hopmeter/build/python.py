"""Python adapters need no building, but the packages that their manifest lists, in the environment that it names."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from hopmeter.build import lock
from hopmeter.build.command import BuildError, run_logged
from hopmeter.manifest.interpreter import Interpreter, NoPythonError, folder, interpreter
from hopmeter.manifest.model import Offer
from hopmeter.manifest.requirement import here, name

UV = [sys.executable, "-m", "uv"]


def build(offer: Offer, log: Path) -> None:
    """Installs what a transport's nodes need for the Python that runs them."""
    remedy = f"see why this fails, then `hopmeter build {offer.transport} --language python`"
    if offer.environment == "own":
        make(folder(offer.transport), log, remedy)
    try:
        found = interpreter(offer)
    except NoPythonError as none:
        raise BuildError(str(none), none.remedy) from none
    if found is None:
        return
    try:
        packages = [each for text in offer.pip if (each := here(text))]
    except ValueError as cause:
        raise BuildError(f"a marker in its pip list is none: {cause}", "mend it in its transport.toml") from cause
    _refuse_elsewhere(offer, found)
    if packages:
        install(found.program, packages, log, remedy)


def install(python: Path, packages: Sequence[str], log: Path, remedy: str) -> None:
    """Installs packages for a Python, in the versions of the lock file where that agrees with them."""
    command = [*UV, "pip", "install", "--python", python, *lock.arguments(packages), *packages]
    run_logged(command, log, remedy=remedy)


def _refuse_elsewhere(offer: Offer, found: Interpreter) -> None:
    """Some libraries are built for some processors only; one that was built by hand is taken."""
    for text in offer.pip:
        if not here(text) and not is_installed(name(text), found):
            wanted = text.partition(";")[0].strip()
            raise BuildError(
                f"{wanted} has no ready package for {platform.machine()}, which {offer.transport} in Python needs",
                f"build it from its source into {found.program}, or measure {offer.transport} in its other languages",
            )


def is_installed(distribution: str, found: Interpreter) -> bool:
    """Whether a package lies in a Python's folders."""
    folders = [str(folder) for folder in found.packages]
    return any(True for _ in metadata.Distribution.discover(name=distribution, path=folders))


def make(environment: Path, log: Path, remedy: str) -> None:
    """An environment anew: what its manifest no longer lists, or an older Python, must not stay in it."""
    run_logged([*UV, "venv", "--clear", "--python", sys.executable, environment], log, remedy=remedy)
