"""Parses JSON from other programs. Raises ValueError for JSON that hopmeter itself never writes."""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 32
"""The maximum nesting depth of lists and objects. Deeper nesting would exhaust the stack of recursive functions."""
INTEGERS = range(-(1 << 63), 1 << 64)
"""The range of signed and unsigned 64-bit integers."""


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError with the reason if the text is not valid."""
    try:
        value = json.loads(text)
    except RecursionError as cause:
        raise _too_deep() from cause
    _check(value, MAX_DEPTH)
    return value


def _check(value: Any, levels: int) -> None:
    if isinstance(value, int) and value not in INTEGERS:
        raise ValueError("an integer does not fit into 64 bits")
    if not isinstance(value, list | dict):
        return
    if not levels:
        raise _too_deep()
    for each in value.values() if isinstance(value, dict) else value:
        _check(each, levels - 1)


def _too_deep() -> ValueError:
    return ValueError(f"it has more than {MAX_DEPTH} nested levels")
