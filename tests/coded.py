"""Messages are looked for by their codes, and by the values that they have to name: their sentences may change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

Error = TypeVar("Error", bound=BaseException)


def lacking(message: str, expected: str) -> list[str]:
    """What a message lacks of `expected`: a code, and after it words that the message must hold, such as
    `E-VALUE-RANGE 9000 5000`. Empty for an empty message of which nothing is expected."""
    if not expected:
        return [message] if message else []
    code, *values = expected.split()
    return [word for word in (f"[{code}]", *values) if word not in message]


@contextmanager
def refuses(error: type[Error], expected: str) -> Iterator[pytest.ExceptionInfo[Error]]:
    """The block must raise an error of this type, whose message lacks nothing of `expected`."""
    with pytest.raises(error) as refused:
        yield refused
    assert lacking(str(refused.value), expected) == []
