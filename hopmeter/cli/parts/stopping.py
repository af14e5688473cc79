"""Ctrl-C in a command that measures nothing: it says what there is of its work, and leaves nothing half done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hopmeter.errors import StoppedError


@contextmanager
def stopping(left: str | Callable[[], str], remedy: str = "") -> Iterator[None]:
    """Raises StoppedError on Ctrl-C; `left` says what the command had done by then, and had not."""
    try:
        yield
    except KeyboardInterrupt as cause:
        raise StoppedError(f"stopped; {left if isinstance(left, str) else left()}", remedy) from cause
