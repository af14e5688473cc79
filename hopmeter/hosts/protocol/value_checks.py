"""Checks the values in messages that a peer has sent. Each function returns the value of a key in a message, or raises
a ValueError that names the key."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from typing import Any

RUN = re.compile(r"[0-9a-f]{16}")
HASH = re.compile(r"[0-9a-f]{64}")
MOST_ITEMS = 10_000


def number(message: Mapping[str, Any], key: str, most: int = 1 << 63) -> int:
    """Return the value of a key, which must be an integer from 0 to `most`."""
    value = message.get(key)
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{key} is no number from 0 to {most}")
    return value


def decimal(message: Mapping[str, Any], key: str) -> float:
    """Return a finite non-negative number."""
    value = message.get(key)
    if type(value) not in (int, float) or not 0 <= value < 1e18:  # type: ignore[operator]
        raise ValueError(f"{key} is no number")
    return float(value)  # type: ignore[arg-type]


def text(message: Mapping[str, Any], key: str, longest: int = 1000) -> str:
    """Return the value of a key, which must be a string of at most `longest` characters."""
    value = message.get(key)
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"{key} is not a text of at most {longest} characters")
    return value


def word(message: Mapping[str, Any], key: str, allowed: Collection[str]) -> str:
    """Return the value of a key, which must be one of the strings in `allowed`."""
    value = text(message, key)
    if value not in allowed:
        raise ValueError(f"{key} is none of {', '.join(sorted(allowed))}")
    return value


def matching(message: Mapping[str, Any], key: str, pattern: re.Pattern[str]) -> str:
    """Return the value of a key, which must be a string that fully matches the pattern."""
    value = text(message, key)
    if not pattern.fullmatch(value):
        raise ValueError(f"{key} does not have the form {pattern.pattern}")
    return value


def table(message: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a JSON object."""
    value = message.get(key)
    if not isinstance(value, dict) or len(value) > MOST_ITEMS:
        raise ValueError(f"{key} is no object")
    return value


def texts(message: Mapping[str, Any], key: str, longest: int = 1000) -> dict[str, str]:
    """Return the value of a key, which must be a JSON object whose values are strings of at most `longest`
    characters."""
    found = table(message, key)
    return {name: text(found, name, longest) for name in found}


def items(message: Mapping[str, Any], key: str, most: int = MOST_ITEMS) -> list[Any]:
    """Return the value of a key, which must be a list of at most `most` items."""
    value = message.get(key)
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"{key} is not a list of at most {most} items")
    return value


def numbers(message: Mapping[str, Any], key: str, most: int = 1 << 20) -> list[int]:
    """Return the value of a key, which must be a list of integers from 0 to `most`."""
    found = items(message, key)
    return [number({key: each}, key, most) for each in found]


def printable(message: Mapping[str, Any], key: str, longest: int = 2000) -> str:
    """Return the value of a key as one line, without terminal control characters."""
    return "".join(each if each.isprintable() else " " for each in text(message, key, longest))


def address(message: Mapping[str, Any], key: str) -> str:
    """Return the value of a key, which must be an IP address, in canonical form."""
    return str(ipaddress.ip_address(text(message, key)))
