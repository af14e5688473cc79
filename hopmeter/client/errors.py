"""Errors that `hopmeter.client` raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hopmeter.errors import HopmeterError
from hopmeter.node.contract import AdapterError


class ConnectError(HopmeterError):
    """A link end cannot be opened or used, for example because the transport is not installed or the peer is
    missing."""


class TimedOutError(HopmeterError, TimeoutError):
    """Nothing could be received or sent within the timeout."""


class CallFailedError(HopmeterError):
    """The server's handler raised an error. The message of this exception contains the handler's error text."""


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Convert adapter errors raised in the `with` block to a ConnectError with a remedy."""
    try:
        yield
    except AdapterError as failed:
        raise ConnectError("E-ADAPTER", f"{what}: {failed}", failed.remedy) from failed
    except OSError as failed:
        raise ConnectError(
            "E-CONNECTION", f"{what}: {failed}", "check whether the other program is still running"
        ) from failed
