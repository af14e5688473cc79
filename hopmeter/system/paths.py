"""Locates hopmeter's files, which are next to the package in a checkout, inside an installed package, or in the user's
data directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def checkout() -> Path | None:
    """Return the root of the source tree that contains the package `hopmeter`, or None if the package is installed."""
    parent = PACKAGE.parent
    return parent if (parent / "transports").is_dir() and (parent / "Cargo.toml").is_file() else None


def data() -> Path:
    """Return the directory of the data files in an installed package."""
    return PACKAGE / "_data"


def home() -> Path:
    """Return the user's data directory, to which `hopmeter build` and `hopmeter new` write outside a checkout."""
    own = os.environ.get("HOPMETER_HOME")
    shared = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(own).absolute() if own else Path(shared) / "hopmeter"


def cache() -> Path:
    """Return the user's cache directory. Files in the cache directory may be deleted at any time."""
    own = os.environ.get("HOPMETER_HOME")
    shared = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(own).absolute() / "cache" if own else Path(shared) / "hopmeter"


LONGEST = 40
"""The maximum length of XDG_RUNTIME_DIR.

Unix socket paths are limited to about 100 characters, and transports need the remaining characters.
"""


def short_folder() -> Path:
    """Return the directory that contains the private directories of trials and links.

    The directory has a short path, because the length of socket paths is limited.
    """
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = own and len(own) <= LONGEST and os.access(own, os.W_OK | os.X_OK)
    return Path(own) if usable else Path("/tmp")


def node_build_dir() -> Path:
    """Return the directory to which `hopmeter build` writes node executables."""
    tree = checkout()
    return tree / "build/nodes" if tree else home() / "nodes"


def node_folders() -> list[Path]:
    """Return the directories in which hopmeter searches for nodes, in search order."""
    return [node_build_dir()] if checkout() else [node_build_dir(), data() / "nodes"]


def codec_folder() -> Path:
    """Return the directory to which `hopmeter build --message` writes codec libraries."""
    tree = checkout()
    return tree / "build/codecs" if tree else home() / "codecs"


def environment_folder() -> Path:
    """Return the directory that contains the software environments of transports and codecs."""
    tree = checkout()
    return (tree / "build" if tree else cache()) / "environments"


def jar_folder() -> Path:
    """Return the directory that contains the jars of brokers."""
    tree = checkout()
    return tree / "build/jars" if tree else home() / "jars"


def cpp_folder() -> Path:
    """Return the directory of hopmeter's C++ sources."""
    return (checkout() or data()) / "cpp"


def codec_sources() -> Path:
    """Return the directory of hopmeter's Rust sources for codec libraries."""
    tree = checkout()
    return tree / "instrument/codecs" if tree else data() / "codecs"


def transport_folders() -> list[Path]:
    """Return the directories in which hopmeter searches for transports, in search order."""
    tree = checkout()
    return [tree / "transports"] if tree else [home() / "transports", data() / "transports"]


def scenario_folder() -> Path:
    """Return the directory of the built-in scenarios."""
    tree = checkout()
    return (tree or data()) / "scenarios"


def results() -> Path:
    """Return the default directory for run directories, relative to the working directory."""
    return Path("results")


def language_word(language: str) -> str:
    """Return the spelling of a language in directory and executable names."""
    return "cpp" if language == "c++" else language


def node_name(transport: str, language: str) -> str:
    """Return the file name of a compiled node."""
    return f"hopmeter-node-{transport}-{language_word(language)}"


def node(transport: str, language: str) -> Path | None:
    """Return the path of a compiled node, or None if the node has not been built."""
    name = node_name(transport, language)
    return next((folder / name for folder in node_folders() if os.access(folder / name, os.X_OK)), None)


def manifests(folders: Iterable[Path] | None = None) -> list[Path]:
    """Return the path of each transport's manifest. If two transports share a name, only the manifest of the first
    transport is returned.

    Transports whose names begin with `_` or `.` are skipped.
    """
    found: dict[str, Path] = {}
    for folder in transport_folders() if folders is None else folders:
        for path in sorted(folder.glob("*/transport.toml")):
            if re.match(r"[^_.]", path.parent.name):
                found.setdefault(path.parent.name, path)
    return [found[name] for name in sorted(found)]
