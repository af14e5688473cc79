"""Provides base classes and helpers for adapters. An adapter may do without these classes and helpers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hopmeter.node.contract import Link, Setup

Opened = TypeVar("Opened")


class BaseTransport:
    """A base class for transports that have no resources to close apart from those of their link ends."""

    path: str
    """How the bytes actually travel, such as `shared memory`. The value is reported as the fact `path`."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.settings = setup.settings

    def facts(self) -> dict[str, str]:
        """Return the fact `path`, which states how the bytes of a message travel."""
        return {"path": self.path}

    def close(self) -> None:
        """Do nothing, because each link end closes its own resources."""


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a method with which a `Transport` class opens a link end, as in `publisher = opens(Publisher)`.

    The returned method calls `end(transport, link)`.
    """

    def open_end(transport: Any, link: Link) -> Opened:
        return end(transport, link)

    return open_end


def package_version(distribution: str, title: str = "") -> staticmethod[[], str]:
    """Return an implementation of a transport's method `version`, which reads the version from the metadata of a Python
    package. If `title` is given, the version text begins with it."""
    return staticmethod(lambda: f"{title} {_installed_version(distribution)}".strip())


def _installed_version(distribution: str) -> str:
    """Return a package's version from the name of its metadata directory.

    Only if the package has no such directory, the function imports `importlib.metadata`, because that import slows down
    the start of a node.
    """
    name = distribution.replace("-", "_").lower()
    for place in sys.path:
        for folder in Path(place).glob(f"{name}-*.dist-info"):
            return folder.name.removesuffix(".dist-info").rpartition("-")[2]
    from importlib import metadata

    return metadata.version(distribution)
