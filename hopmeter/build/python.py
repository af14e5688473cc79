"""Python adapters need no building, but the packages that their manifest lists, in the environment that it names."""

from __future__ import annotations

import sys
from pathlib import Path

from hopmeter.build.command import BuildError, run_logged
from hopmeter.manifest.interpreter import NoPythonError, folder, interpreter
from hopmeter.manifest.model import Offer

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
    if offer.pip and found is not None:
        run_logged([*UV, "pip", "install", "--python", found.program, *offer.pip], log, remedy=remedy)


def make(environment: Path, log: Path, remedy: str) -> None:
    """An environment anew: what its manifest no longer lists, or an older Python, must not stay in it."""
    run_logged([*UV, "venv", "--clear", "--python", sys.executable, environment], log, remedy=remedy)
