"""Implements `hopmeter.connect`: publishers, subscribers, clients and servers that exchange objects over any transport
with a Python adapter.

docs/connect.md explains how to use `hopmeter.connect`, how two programs find each other, and which rules apply to all
transports.
"""

from __future__ import annotations

from typing import Any

from hopmeter.client.errors import CallFailedError, ConnectError, TimedOutError
from hopmeter.client.session import Session, connect

__all__ = ["CallFailedError", "ConnectError", "Session", "TimedOutError", "connect"]


def __getattr__(name: str) -> Any:
    """Return `Session` if its deprecated name `House` is imported, and issue a warning."""
    if name != "House":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import warnings

    warnings.warn("hopmeter.client.House is now hopmeter.client.Session", DeprecationWarning, 2)
    return Session
