"""Copies the wheel's data files into `hopmeter/_data`: nodes, adapters, scenarios, and the C++ kit.

Run `python -m hopmeter.build.stage` in a checkout, after `hopmeter build --language rust`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from hopmeter.build.command import BuildError
from hopmeter.build.languages import rust
from hopmeter.manifest import every
from hopmeter.system import paths

SOURCES = (
    "transport.toml",
    "README.md",
    "python",
    "cpp",
    "idl",
    "files",
    "include",
    "rust/examples",
    "rust/Cargo.toml",
)
"""The files of a transport's directory that the wheel contains. Rust adapters are shipped as built nodes.

Cargo.toml is included because it contains the crate versions that a Rust example needs.
"""
CLUTTER = shutil.ignore_patterns("__pycache__", "*.pyc", "build", ".*")


def stage(checkout: Path, data: Path) -> list[str]:
    """Recreate the directory `data`, and return the names of the nodes in it."""
    shutil.rmtree(data, ignore_errors=True)
    _copy_transports(checkout / "transports", data / "transports")
    shutil.copytree(checkout / "scenarios", data / "scenarios", ignore=CLUTTER)
    _copy_kit(checkout, data)
    return _copy_nodes(checkout / "build/nodes", data / "nodes")


def _copy_transports(source: Path, target: Path) -> None:
    first = {one.name: {part.first for part in one.languages.values()} - {""} for one in every([source]).values()}
    for folder in sorted(source.iterdir()):
        for part in (*SOURCES, *first.get(folder.name, ())):
            if (folder / part).is_dir():
                shutil.copytree(folder / part, target / folder.name / part, ignore=CLUTTER)
            elif (folder / part).is_file():
                (target / folder.name / part).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(folder / part, target / folder.name / part)


def _copy_kit(checkout: Path, data: Path) -> None:
    """Copy the files for building C++ adapters and codec libraries: headers, sources, the CMake package and the
    library."""
    library = rust.build_library(checkout, checkout / "build/logs/library.log")  # this build also writes the C header
    for part in ("include", "cmake", "codecs"):
        shutil.copytree(checkout / "cpp" / part, data / "cpp" / part, ignore=CLUTTER)
    shutil.copytree(checkout / "instrument/codecs", data / "codecs", ignore=CLUTTER)
    (data / "cpp/lib").mkdir()
    shutil.copy2(library, data / "cpp/lib" / library.name)
    _strip(data / "cpp/lib" / library.name)


def _copy_nodes(source: Path, target: Path) -> list[str]:
    target.mkdir(parents=True)
    parts = {one.name: one.languages.get("rust") for one in every().values()}
    names = [
        (name, *(f"{name}-{each}" for each in part.installations)) for name, part in parts.items() if part and part.user
    ]
    local = {paths.node_name(name, "rust") for each in names for name in each}
    built = [*source.glob("hopmeter-node-*-rust"), *source.glob("lib*.so")]
    # A node that uses a user-installed library runs only on machines with that library.
    nodes = sorted(node for node in built if node.name not in local)
    for node in nodes:
        shutil.copy2(node, target / node.name)
        _strip(target / node.name)
    return [node.name for node in nodes]


def _strip(built: Path) -> None:
    """Strip debug information, which makes up three quarters of a node's size. Do nothing if `strip` is not
    installed."""
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-debug", str(built)], check=True)


def main() -> int:
    """Fill `hopmeter/_data` when called by the Makefile, and return the exit code."""
    checkout = paths.checkout()
    if checkout is None:
        print("this is not a checkout of hopmeter, so there is nothing to package", file=sys.stderr)
        return 2
    try:
        nodes = stage(checkout, checkout / "hopmeter/_data")
    except BuildError as error:
        print(f"{error.message}\n{error.detail}\n  {error.remedy}", file=sys.stderr)
        return 1
    print(f"staged {len(nodes)} nodes: {' '.join(nodes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
