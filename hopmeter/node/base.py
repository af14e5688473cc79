"""What most adapters have in common, for those that want it: the contract asks for none of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hopmeter.node.contract import Link, Setup

Opened = TypeVar("Opened")


class BaseTransport:
    """A transport whose ends share the setup and nothing that would have to be closed."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.settings = setup.settings

    def close(self) -> None:
        """Every end has closed what it opened."""


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a method of a transport that opens an end, an object of a class made of the transport and a link:
    `publisher = opens(Publisher)`."""

    def open_end(transport: Any, link: Link) -> Opened:
        return end(transport, link)

    return open_end


def package_version(distribution: str, title: str = "") -> staticmethod[[], str]:
    """`version` of a library that says it only in its package's metadata, after `title` if there is one."""

    def version() -> str:
        from importlib import metadata  # only here: a node whose library says its version starts without it

        return f"{title} {metadata.version(distribution)}".strip()

    return staticmethod(version)
