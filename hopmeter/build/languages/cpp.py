"""Builds C++ adapters with CMake, and links them with the instrument's static library."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopmeter.build.command import BuildError, run_logged
from hopmeter.build.languages.rust import replace

MARK = "HOPMETER_BUILT_AGAINST"
LOW_PRIORITY = ("nice", "-n", "10")
"""Lets Cargo, whose builds take longest, run first. C++ compilers use the cores when a Rust crate compiles alone."""


@dataclass(frozen=True)
class Kit:
    """The inputs for building C++ nodes: the directory of hopmeterConfig.cmake, the static library, and the transports'
    shared-library directories."""

    cmake: Path
    library: Path
    nodes: Sequence[Path]


@dataclass(frozen=True)
class Project:
    """A CMake project to build and install."""

    source: Path
    folder: Path
    """The directory for intermediate build files."""
    prefix: Path
    owns_prefix: bool
    """Whether `prefix` contains only this project. If it does, `prefix` is removed together with the build
    directory."""
    python: Path
    """The Python interpreter that runs the project's code generators."""
    variables: Mapping[str, str]
    """The environment variables of the build."""
    mark: str
    """Identifies the libraries that the project is built against.

    A build directory that has a different mark is removed.
    """
    options: tuple[str, ...] = ()
    """Additional CMake options."""


def install(project: Project, log: Path, remedy: str) -> None:
    """Build and install a CMake project that is not a node."""
    _leave_other_source(project.folder, project.source, project.mark)
    if project.owns_prefix and not project.folder.exists():
        shutil.rmtree(project.prefix, ignore_errors=True)
    places = [f"-DCMAKE_INSTALL_PREFIX={project.prefix}", f"-DPython3_EXECUTABLE={project.python}"]
    env = project.variables
    configure = [*_configure(project.source, project.folder), *places, *project.options, f"-D{MARK}={project.mark}"]
    run_logged(configure, log, remedy=remedy, env=env)
    run_logged([_cmake(), "--build", project.folder, "--parallel"], log, remedy=remedy, env=env)
    run_logged([_cmake(), "--install", project.folder], log, remedy=remedy, env=env)


def build(name: str, source: Path, kit: Kit, folder: Path, node: Path, log: Path, mark: str = "") -> None:
    """Build a transport's node in `folder`, and copy it to `node`.

    `mark` identifies the libraries that the node is built against. A build directory with a different mark is removed
    before the build.
    """
    _leave_other_source(folder, source, mark)
    remedy = f"correct {source}, then run `hopmeter build {name} --language c++`"
    run_logged([*_configure(source, folder), *options(kit), f"-D{MARK}={mark}"], log, remedy=remedy)
    run_logged([*LOW_PRIORITY, _cmake(), "--build", folder, "--config", "Release", "--parallel"], log, remedy=remedy)
    replace(_find_binary(folder, node.name), node)


def _configure(source: Path, folder: Path) -> list[str | Path]:
    # CMake cannot change the generator of a build directory that is already configured.
    generator = ["-G", "Ninja"] if shutil.which("ninja") and not (folder / "CMakeCache.txt").exists() else []
    return [_cmake(), "-S", source, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release"]


def options(kit: Kit) -> list[str]:
    """Return the CMake options that locate the kit, and the Python whose packages may contain C++ libraries."""
    return [
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-Dhopmeter_DIR={kit.cmake}",
        f"-DHOPMETER_LIBRARY={kit.library}",
        f"-DHOPMETER_NODES={';'.join(map(str, kit.nodes))}",
    ]


def _leave_other_source(folder: Path, source: Path, mark: str) -> None:
    """Remove the build directory if it was made for a different source tree or has a different mark.

    CMake rejects a build directory that was made for a different source tree. All hopmeter installations share the
    user's cache, so the build directory may come from another installation.
    """
    cached = folder / "CMakeCache.txt"
    if not cached.exists():
        return
    lines = (line.partition("=") for line in cached.read_text().splitlines())
    values = {name.partition(":")[0]: value for name, _, value in lines}
    if (values.get("CMAKE_HOME_DIRECTORY"), values.get(MARK, "")) != (str(source), mark):
        shutil.rmtree(folder)


def _cmake() -> str:
    found = shutil.which("cmake")
    if found is None:
        raise BuildError(
            "E-NO-TOOL",
            "CMake is not installed",
            "install cmake and a C++ compiler (Debian: cmake g++), then run this again",
        )
    return found


def _find_binary(folder: Path, name: str) -> Path:
    for place in (folder / name, folder / "Release" / name):
        if place.exists():
            return place
    raise BuildError(
        "E-CMAKE-TARGET", f"CMake built no {name} in {folder}", f"add a target `{name}` to the CMakeLists.txt"
    )
