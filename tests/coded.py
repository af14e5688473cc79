"""Match messages by their codes and values, because the wording may change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

Error = TypeVar("Error", bound=BaseException)


def lacking(message: str, expected: str) -> list[str]:
    """Return which part of `expected` a message lacks: a code, or words that follow the code, such as `E-VALUE-RANGE
    9000 5000`.

    Return an empty string if both the message and `expected` are empty.
    """
    if not expected:
        return [message] if message else []
    code, *values = expected.split()
    return [word for word in (f"[{code}]", *values) if word not in message]


@contextmanager
def refuses(error: type[Error], expected: str) -> Iterator[pytest.ExceptionInfo[Error]]:
    """Check that the block raises an error of this type with the expected code and words."""
    with pytest.raises(error) as refused:
        yield refused
    assert lacking(str(refused.value), expected) == []
