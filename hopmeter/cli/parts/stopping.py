"""Ctrl-C handling for commands that measure nothing. After Ctrl-C, the command reports what it did, and leaves no
incomplete files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hopmeter.errors import StoppedError


@contextmanager
def stopping(left: str | Callable[[], str], remedy: str = "") -> Iterator[None]:
    """Raise StoppedError on Ctrl-C inside the `with` block. `left` describes what the command had done and what is left
    to do."""
    try:
        yield
    except KeyboardInterrupt as cause:
        raise StoppedError("E-STOPPED", f"stopped; {left if isinstance(left, str) else left()}", remedy) from cause
