"""Provides base classes and helpers for adapters. An adapter need not use these classes and helpers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hopmeter.node.contract import Link, Setup

Opened = TypeVar("Opened")


class BaseTransport:
    """A base class for transports that have no resources of their own to close."""

    path: str
    """How the bytes actually travel, such as `shared memory`. The value is reported as the fact `path`."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.settings = setup.settings

    def facts(self) -> dict[str, str]:
        """Return the fact `path`."""
        return {"path": self.path}

    def close(self) -> None:
        """Do nothing, because each link end closes its own resources."""


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a transport method that opens a link end: `publisher = opens(Publisher)`.

    The returned method calls `end` with the transport and a link.
    """

    def open_end(transport: Any, link: Link) -> Opened:
        return end(transport, link)

    return open_end


def package_version(distribution: str, title: str = "") -> staticmethod[[], str]:
    """Return a `version` method that reports a package's version from its metadata, preceded by `title` if given."""
    return staticmethod(lambda: f"{title} {_installed_version(distribution)}".strip())


def _installed_version(distribution: str) -> str:
    """Return a package's version from the name of its metadata directory.

    `importlib.metadata` is imported only for a package without such a directory, because the import would slow down the
    node's start.
    """
    name = distribution.replace("-", "_").lower()
    for place in sys.path:
        for folder in Path(place).glob(f"{name}-*.dist-info"):
            return folder.name.removesuffix(".dist-info").rpartition("-")[2]
    from importlib import metadata

    return metadata.version(distribution)
