"""Parts that adapters have in common. The contract does not require their use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hopmeter.node.contract import Link, Setup

Opened = TypeVar("Opened")


class BaseTransport:
    """A transport whose link ends share only the setup, so the transport itself has no resources to close."""

    path: str
    """The path that the bytes actually take; the transport reports it as the fact `path`."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.settings = setup.settings

    def facts(self) -> dict[str, str]:
        """Return the fact `path`."""
        return {"path": self.path}

    def close(self) -> None:
        """Do nothing: each link end has already closed its own resources."""


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a transport method that opens a link end by calling the class `end` with the transport and a link:
    `publisher = opens(Publisher)`."""

    def open_end(transport: Any, link: Link) -> Opened:
        return end(transport, link)

    return open_end


def package_version(distribution: str, title: str = "") -> staticmethod[[], str]:
    """Return a `version` method that returns a package's version from its metadata, preceded by `title` if given."""
    return staticmethod(lambda: f"{title} {_installed_version(distribution)}".strip())


def _installed_version(distribution: str) -> str:
    """Return the version in the name of the package's metadata folder.

    Importing `importlib.metadata` would slow down the start of a node, so this function imports it only for a package
    without such a folder.
    """
    name = distribution.replace("-", "_").lower()
    for place in sys.path:
        for folder in Path(place).glob(f"{name}-*.dist-info"):
            return folder.name.removesuffix(".dist-info").rpartition("-")[2]
    from importlib import metadata

    return metadata.version(distribution)
