"""Common parts of adapters. The contract does not require these parts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hopmeter.node.contract import Link, Setup

Opened = TypeVar("Opened")


class BaseTransport:
    """A transport whose link ends share only the setup, so that it has no resources to close."""

    path: str
    """The path that the bytes really take, which the transport reports as the fact `path`."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.settings = setup.settings

    def facts(self) -> dict[str, str]:
        """Return the path."""
        return {"path": self.path}

    def close(self) -> None:
        """Do nothing: each link end has already closed its own resources."""


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a method of a transport that opens a link end: it calls the class of the end with the transport and a
    link: `publisher = opens(Publisher)`."""

    def open_end(transport: Any, link: Link) -> Opened:
        return end(transport, link)

    return open_end


def package_version(distribution: str, title: str = "") -> staticmethod[[], str]:
    """Return the `version` of a library from the metadata of its package, with `title` in front if it is given."""
    return staticmethod(lambda: f"{title} {_installed_version(distribution)}".strip())


def _installed_version(distribution: str) -> str:
    """Return the version from the name of the package's metadata folder.

    Importing `importlib.metadata` would slow down the start of a node, so only a package without such a folder needs
    this import.
    """
    name = distribution.replace("-", "_").lower()
    for place in sys.path:
        for folder in Path(place).glob(f"{name}-*.dist-info"):
            return folder.name.removesuffix(".dist-info").rpartition("-")[2]
    from importlib import metadata

    return metadata.version(distribution)
