"""Finds the line of a key in a TOML file, which `tomllib` does not report."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

MOST_CHARACTERS = 100_000
"""The maximum length of a text that is searched for a key's line. The length is limited because a multi-line value is
parsed again for each of its lines."""

Key = tuple[str, ...]


def line_of(text: str, key: Sequence[str]) -> int | None:
    """Return the number of the line, counted from 1, that sets a key such as `("flow", "frames", "to")`.

    If the text lacks the key, return the line of the innermost table to which the key belongs, or None. An item of an
    array of tables is identified by its index, as in `("case", "0", "wait")`. The text must be valid TOML.
    """
    best, depth = None, 0
    for number, place in _places(text):
        common = _common(place, key)
        if common > depth:
            best, depth = number, common
    return best


def key_in(message: str) -> Key:
    """Return the key at the beginning of an error message, such as `flow.frames.to` in `flow.frames.to: …`.

    Return an empty key if the message does not begin with a key.
    """
    found = re.match(r"\[?([\w-]+(?:\.[\w-]+)*)", message)
    return tuple(found[1].split(".")) if found else ()


def _places(text: str) -> Iterator[tuple[int, Key]]:
    """Yield the first line and the key of each table header and each value in a TOML text."""
    table: Key = ()
    items: Counter[Key] = Counter()
    for number, is_header, parsed in _statements(text):
        keys = list(_keys(parsed))
        if is_header and keys:
            table = _table_of(keys[-1], items, is_item=text.splitlines()[number - 1].lstrip().startswith("[["))
            yield number, table
        else:
            yield from ((number, table + each) for each in keys)


def _statements(text: str) -> Iterator[tuple[int, bool, dict[str, Any]]]:
    """For each TOML statement, yield the number of its first line, whether it is a table header, and its content.

    Each statement is parsed without the other statements.
    """
    first, lines = 1, list[str]()
    for number, line in enumerate(text.splitlines() if len(text) <= MOST_CHARACTERS else [], 1):
        lines.append(line)
        try:
            parsed = tomllib.loads("\n".join(lines))
        except tomllib.TOMLDecodeError:
            continue  # the value continues on the next line
        yield first, lines[0].lstrip().startswith("["), parsed
        first, lines = number + 1, []


def _table_of(header: Key, items: Counter[Key], is_item: bool) -> Key:
    """Return the key of the table that a header begins, including the indices of enclosing arrays of tables."""
    table: Key = ()
    for place, part in enumerate(header, 1):
        table += (part,)
        if is_item and place == len(header):
            items[table] += 1
        if items[table]:
            table += (str(items[table] - 1),)
    return table


def _keys(value: Any) -> Iterator[Key]:
    """Yield the keys of all values in a TOML table. The key of a nested table precedes the keys inside the table."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (key,)
            yield from ((key, *each) for each in _keys(inner))


def _common(place: Key, key: Sequence[str]) -> int:
    """Return the length of the shorter key if the longer key begins with the shorter key. Otherwise, return
    0."""
    many = min(len(place), len(key))
    return many if place[:many] == tuple(key[:many]) else 0
