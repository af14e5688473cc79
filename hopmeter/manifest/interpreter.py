"""Selects the Python interpreter for a transport's nodes: hopmeter's own Python, the Python of an environment, or the
system Python."""

from __future__ import annotations

import functools
import json
import os
import site
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hopmeter.manifest.tables.language_part import Offer
from hopmeter.system import paths

OLDEST = (3, 10)
"""The oldest Python version that can run nodes, which is the version in Ubuntu 22.04. hopmeter itself needs a newer
Python."""
PATIENCE_S = 20
ABOUT = (
    "import json, site, sys; "
    "print(json.dumps([sys.version_info[:2], sys.prefix != sys.base_prefix, site.getsitepackages()]))"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter and its package directories."""

    program: Path
    packages: tuple[Path, ...]
    borrowed: Path | None = None
    """Another Python's package directory, which is searched before this Python's own package directories."""
    version: tuple[int, ...] = sys.version_info[:2]

    @property
    def user_packages(self) -> Path:
        """Return the directory into which `pip install --user` installs packages, whether or not the directory
        exists."""
        major, minor = self.version[:2]
        return Path(site.getuserbase()) / f"lib/python{major}.{minor}/site-packages"

    def fill(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables of a manifest, with `{environment}` replaced with the environment directory
        of this Python."""
        environment = str(self.program.parents[1])
        return {name: text.replace("{environment}", environment) for name, text in variables.items()}

    @property
    def command(self) -> list[str]:
        """Return the command that runs a node, without arguments."""
        # The option -P prevents files in the user's working directory from shadowing library modules. A node that is
        # started as a script needs no such option, because Python then does not search the working directory.
        if self.program == Path(sys.executable):
            return [sys.executable, "-P", "-m", "hopmeter.node"]
        borrowed = ["--borrow", str(self.borrowed)] if self.borrowed else []
        return [str(self.program), str(paths.PACKAGE / "node/start.py"), *borrowed]


class NoPythonError(Exception):
    """Raised if the Python that a transport needs is missing."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


def interpreter(offer: Offer) -> Interpreter | None:
    """Return a transport's Python interpreter, or None if `hopmeter build` has not created the interpreter's
    environment yet.

    Raises NoPythonError if only the user can install the transport's Python.
    """
    if offer.interpreter == "system":
        return system()
    if offer.environment == "own":
        return own(offer.environment_name)
    return ours()


def ours() -> Interpreter:
    """Return the Python that runs hopmeter itself."""
    return Interpreter(Path(sys.executable), (Path(sysconfig.get_path("purelib")),))


def folder(name: str) -> Path:
    """Return the directory of the Python environment of a transport or codec."""
    return paths.environment_folder() / name


def own(name: str) -> Interpreter | None:
    """Return the Python in the environment of a transport or codec, or None if the environment does not exist yet."""
    program = folder(name) / "bin/python"
    packages = tuple(sorted(folder(name).glob("lib/python*/site-packages")))
    return Interpreter(program, packages) if os.access(program, os.X_OK) else None


@functools.cache
def system_with_ours() -> Interpreter | None:
    """Return the system Python, with hopmeter's package directory added to its package directories.

    Return None if the minor versions of the system Python and hopmeter's Python differ, because compiled packages
    cannot be imported then. Raises NoPythonError if there is no system Python.
    """
    found, own_packages = system(), ours().packages
    about = _about(found.program)
    if about is None or tuple(about[0]) != sys.version_info[:2]:
        return None
    return Interpreter(found.program, (*own_packages, *found.packages), own_packages[0])


@functools.cache
def system() -> Interpreter:
    """Return the system Python, which is in the system's standard PATH and not in a virtual environment.

    Raises NoPythonError if the system Python is missing or too old.
    """
    found = "the system has no python3"
    for place in (os.confstr("CS_PATH") or os.defpath).split(os.pathsep):
        about = _about(Path(place) / "python3")
        if about is None or about[1]:
            continue
        version, _, packages = about
        if version >= OLDEST:
            return Interpreter(Path(place) / "python3", tuple(map(Path, packages)), version=version)
        found = f"the system's Python is {_format_version(version)}, but nodes need {_format_version(OLDEST)}"
    remedy = (
        f"install the system's own python3, {_format_version(OLDEST)} or newer (Debian 12 and Ubuntu 24.04 include one)"
    )
    raise NoPythonError(found, remedy)


def _about(program: Path) -> tuple[tuple[int, ...], bool, list[str]] | None:
    """Return the version of a Python, whether it is in a virtual environment, and its package directories.

    Return None if the Python cannot be started.
    """
    try:
        asked = [str(program), "-I", "-c", ABOUT]
        said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
        version, virtual, packages = json.loads(said)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return tuple(version), bool(virtual), list(packages)


def _format_version(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
