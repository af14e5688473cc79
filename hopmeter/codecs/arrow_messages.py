"""Estimates the cost of reading Arrow's IPC messages before Arrow reads them.

Messages are flatbuffers, in which many places may refer to one text or one field: Arrow makes a copy for each. Batches
may be compressed, or declare rows that have no bytes. Arrow itself verifies that all places are within the message.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import Any

from hopmeter.codecs.errors import CodecError

FIELD_BYTES = 24
"""The least size of a field, as Arrow writes it; the metadata of one word takes half of it."""
CONTINUES = 0xFFFFFFFF
NODE_BYTES = 16
"""An array of a batch: its number of values, and how many of them are missing."""
KEPT, KEPT_BYTES = 256, 16384
"""How many messages have their description cached, and how long their metadata may be: senders repeat themselves."""
SCHEMA, DICTIONARY, BATCH = 1, 2, 3
TIMESTAMP, VIEWS = 10, (23, 24)
"""Numbers of two types: the one with text in itself (its time zone), and those whose values are views of text."""


class Table:
    """A table of a flatbuffer; its slots are numbered as in Arrow's `Schema.fbs` and `Message.fbs`."""

    __slots__ = ("_at", "_data", "_slots")

    def __init__(self, data: Any, at: int) -> None:
        slots = at - _number(data, "<i", at)
        count = _number(data, "<H", slots) // 2 - 2
        self._data, self._at, self._slots = data, at, (slots + 4, count)

    def place(self, slot: int) -> int:
        """Return the position of the slot's value; 0 if it is omitted."""
        first, count = self._slots
        found = _number(self._data, "<H", first + 2 * slot) if slot < count else 0
        return self._at + found if found else 0

    def value(self, slot: int, form: str) -> int:
        """Return a number; 0 if it is omitted."""
        at = self.place(slot)
        return _number(self._data, form, at) if at else 0

    def table(self, slot: int) -> Table | None:
        """Return a table within this one."""
        at = self.place(slot)
        return Table(self._data, self._target(at)) if at else None

    def tables(self, slot: int) -> Iterator[Table]:
        """Return all tables of a list."""
        first = self.start(slot)
        for number in range(self.length(slot)):
            yield Table(self._data, self._target(first + 4 * number))

    def start(self, slot: int) -> int:
        """Return the position of the first member of a list."""
        return self._target(self.place(slot)) + 4

    def length(self, slot: int) -> int:
        """Return the number of bytes of a text or of members of a list; 0 if it is omitted."""
        at = self.place(slot)
        return _number(self._data, "<I", self._target(at)) if at else 0

    def _target(self, at: int) -> int:
        return at + _number(self._data, "<I", at)


def _number(data: Any, form: str, at: int) -> int:
    if at < 0:
        raise struct.error("a place before the first byte")
    found: int = struct.unpack_from(form, data, at)[0]
    return found


def message_of(data: Any, start: int = 0) -> Table:
    """Return the message whose metadata begin at `start`."""
    return Table(data, start + _number(data, "<I", start))


def check_schema(data: bytes) -> None:
    """Raise CodecError if a serialized schema expands to more than its bytes."""
    try:
        start = 8 if _number(data, "<I", 0) == CONTINUES else 4
        _check_costs(message_of(data, start), len(data))
    except struct.error as cause:
        raise CodecError("E-ARROW-MESSAGE", "this is not an Arrow schema") from cause


def contents(data: bytes) -> tuple[int, bool]:
    """Return the number of values of the longest array in a message's metadata, and whether there are views or empty
    arrays.

    Raises CodecError if they would take far more memory than they have bytes, or the message's buffers are compressed.
    """
    return _longest_and_views(data) if len(data) <= KEPT_BYTES else _longest_and_views.__wrapped__(data)


@functools.lru_cache(KEPT)
def _longest_and_views(data: bytes) -> tuple[int, bool]:
    try:
        message = message_of(data)
        _check_costs(message, len(data))
        batch = _batch(message)
        if batch is not None and batch.place(3):
            raise CodecError(
                "E-ARROW-COMPRESSED",
                "compressed Arrow buffers are not supported",
                "write the stream without compression",
            )
        has_views = any(field.value(2, "<B") in VIEWS for field in _fields(_schema(message)))
        rows = [1] if batch is None else _rows(batch, data)
        return max(rows), has_views or min(rows) <= 0
    except struct.error as cause:
        raise CodecError("E-ARROW-MESSAGE", "this is not an Arrow message") from cause


def _batch(message: Table) -> Table | None:
    """Return the record batch of a message, or of a dictionary's."""
    kind = message.value(1, "<B")
    found = message.table(2) if kind in (DICTIONARY, BATCH) else None
    return found.table(1) if found is not None and kind == DICTIONARY else found


def _rows(batch: Table, data: Any) -> list[int]:
    """Yield the numbers of a batch and of each array within it."""
    nodes, first = range(batch.length(1)), batch.start(1)
    return [batch.value(0, "<q"), *[_number(data, "<q", first + NODE_BYTES * number) for number in nodes]]


def _check_costs(message: Table, size: int) -> None:
    """Raise CodecError if the message's fields and texts add up to more than its bytes."""
    left = size
    for cost in _costs(message):
        left -= cost
        if left < 0:
            raise CodecError(
                "E-ARROW-METADATA", f"Arrow metadata of {size} bytes would need a multiple of this in memory"
            )


def _costs(message: Table) -> Iterator[int]:
    """Yield for each field and each text of a message the bytes it takes if none is shared."""
    yield from _metadata(message, 4)
    schema = _schema(message)
    if schema is not None:
        yield from _metadata(schema, 2)
    for field in _fields(schema):
        kind = field.table(3) if field.value(2, "<B") == TIMESTAMP else None
        yield FIELD_BYTES + field.length(0) + (kind.length(1) if kind else 0)
        yield from _metadata(field, 6)


def _schema(message: Table) -> Table | None:
    return message.table(2) if message.value(1, "<B") == SCHEMA else None


def _fields(schema: Table | None) -> Iterator[Table]:
    """Yield all fields of a schema, and all within these."""
    waiting = [] if schema is None else [schema.tables(1)]
    while waiting:
        field = next(waiting[-1], None)
        if field is None:
            waiting.pop()
            continue
        yield field
        waiting.append(field.tables(5))


def _metadata(table: Table, slot: int) -> Iterator[int]:
    for pair in table.tables(slot):
        yield FIELD_BYTES // 2 + pair.length(0) + pair.length(1)
