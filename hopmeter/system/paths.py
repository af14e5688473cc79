"""Where things are: beside this package in a checkout, inside it where it is installed, and in the user's folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def checkout() -> Path | None:
    """The source tree that this package lies in, if it does."""
    parent = PACKAGE.parent
    return parent if (parent / "transports").is_dir() and (parent / "Cargo.toml").is_file() else None


def data() -> Path:
    """What an installed package carries with it."""
    return PACKAGE / "_data"


def home() -> Path:
    """The user's own folder: what `hopmeter build` made and what `hopmeter new` began without a checkout."""
    own = os.environ.get("HOPMETER_HOME")
    shared = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(own).absolute() if own else Path(shared) / "hopmeter"


def cache() -> Path:
    """What may be deleted at any time."""
    own = os.environ.get("HOPMETER_HOME")
    shared = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(own).absolute() / "cache" if own else Path(shared) / "hopmeter"


LONGEST = 40
"""Paths of Unix sockets hold about 100 characters; what is left is the transport's."""


def short_folder() -> Path:
    """Where private folders of trials and links go: paths of sockets have to be short."""
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = own and len(own) <= LONGEST and os.access(own, os.W_OK | os.X_OK)
    return Path(own) if usable else Path("/tmp")


def node_build_dir() -> Path:
    """Where `hopmeter build` puts nodes."""
    tree = checkout()
    return tree / "build/nodes" if tree else home() / "nodes"


def node_folders() -> list[Path]:
    """Where nodes are looked for, the first first."""
    return [node_build_dir()] if checkout() else [node_build_dir(), data() / "nodes"]


def transport_folders() -> list[Path]:
    """Where transports are looked for, the first first."""
    tree = checkout()
    return [tree / "transports"] if tree else [home() / "transports", data() / "transports"]


def scenario_folder() -> Path:
    """The scenarios that come with hopmeter."""
    tree = checkout()
    return (tree or data()) / "scenarios"


def results() -> Path:
    """Where runs go unless told otherwise."""
    return Path("results")


def language_word(language: str) -> str:
    """A language as folder and executable names spell it."""
    return "cpp" if language == "c++" else language


def node_name(transport: str, language: str) -> str:
    """The executable of a compiled node."""
    return f"hopmeter-node-{transport}-{language_word(language)}"


def node(transport: str, language: str) -> Path | None:
    """The executable of a compiled node, if it was built."""
    name = node_name(transport, language)
    return next((folder / name for folder in node_folders() if os.access(folder / name, os.X_OK)), None)


def manifests(folders: Iterable[Path] | None = None) -> list[Path]:
    """Every transport's manifest; of two with one name the first wins. What begins with `_` is no transport."""
    found: dict[str, Path] = {}
    for folder in transport_folders() if folders is None else folders:
        for path in sorted(folder.glob("*/transport.toml")):
            if re.match(r"[^_.]", path.parent.name):
                found.setdefault(path.parent.name, path)
    return [found[name] for name in sorted(found)]
