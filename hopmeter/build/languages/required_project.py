"""Builds and installs the CMake project that a transport's adapters need, such as generated messages."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from hopmeter.build.command import BuildError
from hopmeter.build.languages import cpp
from hopmeter.manifest import Manifest, Offer
from hopmeter.manifest.interpreter import Interpreter, NoPythonError, own, system
from hopmeter.manifest.tables.user_environment import expand
from hopmeter.system import paths


def install(manifest: Manifest, offer: Offer, python: Interpreter | None, workshop: Path, log: Path) -> None:
    """Install the manifest's CMake project, if there is one, into the transport's environment or next to the nodes.

    `python` is the adapter's Python; None stands for the system Python. Raises BuildError if the build fails.
    """
    if not offer.first:
        return
    python = python or system_python()
    environment = python.program.parents[1] if offer.environment == "own" else None
    name = f"{environment.name if environment else manifest.name}-{offer.first}"
    project = cpp.Project(
        source=manifest.folder / offer.first,
        folder=workshop / name,
        prefix=environment or _next_to_nodes(manifest, offer),
        owns_prefix=environment is None,
        python=python.program,
        variables=python.fill(offer.variables),
        mark=mark(offer, str(python.program), *map(str, python.version)),
    )
    remedy = f"correct the cause, then run `hopmeter build {manifest.reference} --language {offer.language}`"
    cpp.install(project, log, remedy)


def _next_to_nodes(manifest: Manifest, offer: Offer) -> Path:
    return paths.node_build_dir() / f"{manifest.name}-{offer.first}"


def build_variables(manifest: Manifest, offer: Offer) -> dict[str, str]:
    """Return the environment variables that tell an adapter's build where the installed CMake project is."""
    python = own(offer.environment_name) if offer.environment == "own" else None
    folder = str(python.program.parents[1] if python else _next_to_nodes(manifest, offer))
    found = python.fill(offer.variables) if python else {}
    for name, text in offer.build_variables.items():
        if isinstance(text, str):
            found[name] = expand(text.replace("{first}", folder), found)
        elif (given := found.get(name, os.environ.get(name, ""))) in text:
            found[name] = text[given]
    return found


def system_python() -> Interpreter:
    """Return the system Python, which generates code for adapters in other languages.

    Raises BuildError if the system has no Python.
    """
    try:
        return system()
    except NoPythonError as none:
        raise BuildError("E-NO-PYTHON", str(none), none.remedy) from none


def mark(offer: Offer, *more: str) -> str:
    """Return a hash of the library that an adapter is built against.

    Return an empty string if the system can contain only one version of the library.
    """
    library = [offer.user.location] if offer.user else offer.pip if offer.environment == "own" else []
    return f"{zlib.crc32(repr([*library, *more]).encode()):08x}" if library else ""
