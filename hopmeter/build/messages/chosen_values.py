"""The values that hopmeter chooses for a message if the user gives none: the same in every run and language."""

from __future__ import annotations

STAMP_NS = 1_700_000_000_000_000_000
"""The first 64-bit integer. Such integers are often times in nanoseconds; this one is a time in 2023."""
FEW = 3
"""The length of lists of messages, of lists of strings, and of maps."""
DEEP = 4
"""From this nesting depth on, lists of messages have one item, so that nested lists stay small."""


def number(at: int) -> float:
    """Return the floating-point number that an item with this index gets."""
    return at + 0.5


def integer(at: int, bits: int, signed: bool = True) -> int:
    """Return the integer for an index, within the range of a type with this many bits."""
    if bits == 64:
        return STAMP_NS + at
    if bits == 32:
        return 1000 + at
    return at % ((1 << (bits - signed)) - 1) + 1


def text(name: str, at: int) -> str:
    """Return the string for a field and an index."""
    return f"{name} {at}"


def byte(at: int) -> int:
    """Return the byte that an item with this index gets."""
    return at % 251


def many(depth: int) -> int:
    """Return the length of a list of messages at a nesting depth."""
    return FEW if depth < DEEP else 1
