"""What can go wrong between two programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hopmeter.errors import HopmeterError
from hopmeter.node.contract import AdapterError


class ConnectError(HopmeterError):
    """An end that cannot be opened or used: a transport that is not installed, a peer that is not there."""


class TimedOutError(HopmeterError, TimeoutError):
    """Nothing came, or nothing could be sent, in the time that was given."""


class CallFailedError(HopmeterError):
    """The handler of the server raised; its words."""


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """What an adapter raises, as a ConnectError with its remedy."""
    try:
        yield
    except AdapterError as failed:
        raise ConnectError(f"{what}: {failed}", failed.remedy) from failed
    except OSError as failed:
        raise ConnectError(f"{what}: {failed}", "see whether the other program still runs") from failed
