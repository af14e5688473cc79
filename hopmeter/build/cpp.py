"""Build C++ adapters with CMake against the instrument's static library, in a checkout or from an installed package."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopmeter.build.command import BuildError, run_logged
from hopmeter.build.rust import replace


@dataclass(frozen=True)
class Kit:
    """The inputs of a C++ node's build: the folder of hopmeterConfig.cmake, the library to link, and the folder of the
    transports' shared libraries."""

    cmake: Path
    library: Path
    nodes: Sequence[Path]


def build(name: str, source: Path, kit: Kit, folder: Path, node: Path, log: Path) -> None:
    """Build the node of one transport in `folder` and copy it to `node`."""
    _leave_other_source(folder, source)
    remedy = f"correct {source}, then run `hopmeter build {name} --language c++`"
    run_logged([*_configure(source, kit, folder)], log, remedy=remedy)
    run_logged([_cmake(), "--build", folder, "--config", "Release", "--parallel"], log, remedy=remedy)
    replace(_find_binary(folder, node.name), node)


def _configure(source: Path, kit: Kit, folder: Path) -> list[str | Path]:
    # A configured folder keeps its generator; CMake rejects a different generator.
    generator = ["-G", "Ninja"] if shutil.which("ninja") and not (folder / "CMakeCache.txt").exists() else []
    return [
        _cmake(),
        "-S",
        source,
        "-B",
        folder,
        *generator,
        "-DCMAKE_BUILD_TYPE=Release",
        f"-Dhopmeter_DIR={kit.cmake}",
        f"-DHOPMETER_LIBRARY={kit.library}",
        f"-DHOPMETER_NODES={';'.join(map(str, kit.nodes))}",
    ]


def _leave_other_source(folder: Path, source: Path) -> None:
    """Remove the build folder if it belongs to another source tree. Installations share the user's cache, and CMake
    refuses a build folder of another source tree."""
    cached = folder / "CMakeCache.txt"
    if cached.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={source}\n" not in cached.read_text():
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
