"""Common parts of adapters. The contract requires none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hopmeter.node.contract import Link, Setup

Opened = TypeVar("Opened")


class BaseTransport:
    """A transport whose ends share the setup and nothing that has to be closed."""

    path: str
    """The path that the bytes really take, for the fact of this name."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.settings = setup.settings

    def facts(self) -> dict[str, str]:
        """Return the path."""
        return {"path": self.path}

    def close(self) -> None:
        """Do nothing: each end has already closed its own resources."""


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a method of a transport that opens an end, an instance of a class that takes the transport and a link:
    `publisher = opens(Publisher)`."""

    def open_end(transport: Any, link: Link) -> Opened:
        return end(transport, link)

    return open_end


def package_version(distribution: str, title: str = "") -> staticmethod[[], str]:
    """Return the `version` of a library from its package's metadata, after `title` if there is one."""

    def version() -> str:
        from importlib import metadata  # only here: a node whose library reports its version starts without it

        return f"{title} {metadata.version(distribution)}".strip()

    return staticmethod(version)
