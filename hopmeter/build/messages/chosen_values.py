"""Chooses the default values of a message, which are the same in every run and language."""

from __future__ import annotations

STAMP_NS = 1_700_000_000_000_000_000
"""The value of the first 64-bit integer in a message. 64-bit integers are often timestamps in nanoseconds; this
timestamp is in 2023."""
FEW = 3
"""The length of maps, and of lists of messages or strings."""
DEEP = 4
"""The nesting depth from which on lists of messages have a single item, so that nested lists stay small."""


def number(at: int) -> float:
    """Return the default floating-point value of the item at index `at`."""
    return at + 0.5


def integer(at: int, bits: int, signed: bool = True) -> int:
    """Return the default integer at index `at`, in the range of a type with the given number of bits."""
    if bits == 64:
        return STAMP_NS + at
    if bits == 32:
        return 1000 + at
    return at % ((1 << (bits - signed)) - 1) + 1


def text(name: str, at: int) -> str:
    """Return the default string of the field at index `at`."""
    return f"{name} {at}"


def byte(at: int) -> int:
    """Return the default byte at index `at`."""
    return at % 251


def many(depth: int) -> int:
    """Return the default length of a list of messages, which depends on its nesting depth."""
    return FEW if depth < DEEP else 1
