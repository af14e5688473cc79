"""Estimates how much memory Arrow needs to read an IPC message, before Arrow reads the message.

A message is a flatbuffer, in which many references may point to the same text or field. Arrow copies a text or field
once for each reference to it. A batch may be compressed, or may declare rows that occupy no bytes. Arrow itself
verifies that all offsets are within the message.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import Any

from hopmeter.codecs.errors import CodecError

FIELD_BYTES = 24
"""The minimum size in bytes of a field as Arrow writes it. The minimum size of a metadata entry is half of this
size."""
CONTINUES = 0xFFFFFFFF
NODE_BYTES = 16
"""The size in bytes of an array's entry in a batch. The entry contains the length and the null count of the array."""
KEPT, KEPT_BYTES = 256, 16384
"""The limits of the cache: the number of messages, and the metadata bytes per message. Senders repeat their metadata,
so caching saves time."""
SCHEMA, DICTIONARY, BATCH = 1, 2, 3
TIMESTAMP, VIEWS = 10, (23, 24)
"""Arrow's type numbers. Timestamps are the only type with a text parameter, the time zone."""


class Table:
    """A flatbuffers table. Slots are numbered as in Arrow's `Schema.fbs` and `Message.fbs`."""

    __slots__ = ("_at", "_data", "_slots")

    def __init__(self, data: Any, at: int) -> None:
        slots = at - _number(data, "<i", at)
        count = _number(data, "<H", slots) // 2 - 2
        self._data, self._at, self._slots = data, at, (slots + 4, count)

    def place(self, slot: int) -> int:
        """Return the position of the value in a slot of the table, or 0 if the value is omitted."""
        first, count = self._slots
        found = _number(self._data, "<H", first + 2 * slot) if slot < count else 0
        return self._at + found if found else 0

    def value(self, slot: int, form: str) -> int:
        """Return the number in a slot of the table, or 0 if the number is omitted."""
        at = self.place(slot)
        return _number(self._data, form, at) if at else 0

    def table(self, slot: int) -> Table | None:
        """Return the table that a slot of this table refers to, or None if the slot is empty."""
        at = self.place(slot)
        return Table(self._data, self._target(at)) if at else None

    def tables(self, slot: int) -> Iterator[Table]:
        """Yield each table in the list that a slot of this table refers to."""
        first = self.start(slot)
        for number in range(self.length(slot)):
            yield Table(self._data, self._target(first + 4 * number))

    def start(self, slot: int) -> int:
        """Return the position of the first item of the list that a slot refers to."""
        return self._target(self.place(slot)) + 4

    def length(self, slot: int) -> int:
        """Return the length of the text (in bytes) or list (in items) that a slot refers to, or 0 if the slot is
        omitted."""
        at = self.place(slot)
        return _number(self._data, "<I", self._target(at)) if at else 0

    def _target(self, at: int) -> int:
        return at + _number(self._data, "<I", at)


def _number(data: Any, form: str, at: int) -> int:
    if at < 0:
        raise struct.error("a position before the first byte")
    found: int = struct.unpack_from(form, data, at)[0]
    return found


def message_of(data: Any, start: int = 0) -> Table:
    """Return the message with the metadata that begins at `start`."""
    return Table(data, start + _number(data, "<I", start))


def check_schema(data: bytes) -> None:
    """Raise CodecError if reading a serialized schema would take far more memory than the schema's own size."""
    try:
        start = 8 if _number(data, "<I", 0) == CONTINUES else 4
        _check_costs(message_of(data, start), len(data))
    except struct.error as cause:
        raise CodecError("E-ARROW-MESSAGE", "this is not an Arrow schema") from cause


def contents(data: bytes) -> tuple[int, bool]:
    """Return the length of the longest array in a message, and whether the message has views or empty arrays.

    Raises CodecError if the buffers are compressed, or if reading the metadata would take far more memory than the
    metadata's own size.
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
    """Return the record batch of a batch or dictionary message, or None for other messages."""
    kind = message.value(1, "<B")
    found = message.table(2) if kind in (DICTIONARY, BATCH) else None
    return found.table(1) if found is not None and kind == DICTIONARY else found


def _rows(batch: Table, data: Any) -> list[int]:
    """Return a batch's number of rows, followed by the length of each of its arrays."""
    nodes, first = range(batch.length(1)), batch.start(1)
    return [batch.value(0, "<q"), *[_number(data, "<q", first + NODE_BYTES * number) for number in nodes]]


def _check_costs(message: Table, size: int) -> None:
    """Raise CodecError if the fields and texts of a message, counted once for each reference, are together larger than
    the message."""
    left = size
    for cost in _costs(message):
        left -= cost
        if left < 0:
            raise CodecError(
                "E-ARROW-METADATA", f"Arrow metadata of {size} bytes would need several times as much memory"
            )


def _costs(message: Table) -> Iterator[int]:
    """Yield the size in bytes of each field and metadata entry, counted once per reference."""
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
    """Yield all fields of a schema, including nested fields."""
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
