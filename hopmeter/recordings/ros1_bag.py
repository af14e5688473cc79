"""Reads the records of a ROS 1 bag in file order.

The index may be missing, because the recorder writes it last. The index is used only to save time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from hopmeter.recordings.message import Message, RecordedType
from hopmeter.recordings.streams import (
    Block,
    CutOffError,
    DamageError,
    RecordFile,
    UnknownKindError,
    open_block,
)

MAGIC = b"#ROSBAG V2.0\n"
MESSAGE, BAG_HEADER, INDEX, CHUNK, CONNECTION = 0x02, 0x03, 0x04, 0x05, 0x07
NO_INDEX = (
    "the bag has no index, or an incomplete one, as if its recorder was killed; all whole records before are read"
)

Fields = dict[bytes, bytes]


class Record(NamedTuple):
    """A record of a ROS 1 bag: the record's header fields, and the position of the record's data."""

    fields: Fields
    start: int
    length: int

    @property
    def opcode(self) -> int:
        """Return the opcode of the record."""
        return _number(self.fields, b"op")

    @property
    def end(self) -> int:
        """Return the position of the next record."""
        return self.start + self.length


class Ros1Bag(RecordFile):
    """An open ROS 1 bag of format 2.0."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._check_version(file)
        self._head = self._record(len(MAGIC))
        if self._head.opcode != BAG_HEADER:
            raise DamageError("the first record is not the header of a bag")
        if encryptor := self._head.fields.get(b"encryptor"):
            raise UnknownKindError(f"the encryption {encryptor.decode(errors='replace')}")
        self._topics: dict[int, str] = {}
        self._index = _number(self._head.fields, b"index_pos")
        self._is_indexed = self._read_index()

    def _check_version(self, file: BinaryIO) -> None:
        file.seek(0)
        version = file.readline(40)
        if version != MAGIC:
            named = version.decode(errors="replace").strip().removeprefix("#")
            raise UnknownKindError(f'the format "{named}"; convert it to "ROSBAG V2.0" with `rosbag fix`')

    def topics(self) -> Iterator[str]:
        """Yield the topics of the bag. A topic may be yielded more than once."""
        yield from list(self._topics.values())
        for record in () if self._is_indexed else self._data():
            if record.opcode == CONNECTION:
                yield self._add_connection(record.fields)
            elif record.opcode == CHUNK:
                yield from (
                    self._add_connection(fields)
                    for fields, _ in self._chunk(record)
                    if _number(fields, b"op") == CONNECTION
                )

    def types(self) -> Iterator[tuple[str, RecordedType]]:
        """Yield each topic of the bag with an empty type name, because no transport other than ROS 1 uses the ROS 1
        encoding."""
        yield from ((topic, RecordedType("", "ros1")) for topic in self.topics())

    def messages(self, wanted: set[str]) -> Iterator[Message]:
        """Yield the messages of the topics in `wanted`, in file order.

        The caller may remove topics from `wanted` during the iteration.
        """
        for record in self._data():
            if not wanted:
                return
            if record.opcode == CONNECTION:
                self._add_connection(record.fields)
            elif record.opcode == CHUNK and self._may_have(record.end, wanted):
                yield from self._chunk_messages(record, wanted)
            elif record.opcode == MESSAGE and self._topic(record.fields) in wanted:
                yield self._message(record.fields, self.read(record.start, record.length))

    def _chunk_messages(self, record: Record, wanted: set[str]) -> Iterator[Message]:
        for fields, data in self._chunk(record):
            opcode = _number(fields, b"op")
            if opcode == CONNECTION:
                self._add_connection(fields)
            elif opcode == MESSAGE and self._topic(fields) in wanted:
                yield self._message(fields, data)

    def _data(self) -> Iterator[Record]:
        """Yield the records after the bag header. A truncated index is ignored."""
        if not self._is_indexed:
            self.notes[:] = [NO_INDEX]
        at = self._head.end
        try:
            while at < self.size:
                record = self._record(at)
                yield record
                at = record.end
        except CutOffError:
            if not 0 < self._index <= at:
                raise

    def _record(self, at: int) -> Record:
        """Return the record at a position. Raises CutOffError if the file ends inside the record."""
        [header] = struct.unpack("<I", self.read(at, 4, at))
        fields = _parse_fields(self.read(at + 4, header, at))
        [length] = struct.unpack("<I", self.read(at + 4 + header, 4, at))
        found = Record(fields, at + 8 + header, length)
        if found.end > self.size:
            raise CutOffError(at, self.size)
        return found

    def _read_index(self) -> bool:
        """Read the connections in the index, and return whether the index is complete.

        A corrupted index is treated as missing.
        """
        at = self._index
        try:
            for _ in range(_number(self._head.fields, b"conn_count") if at else 0):
                record = self._record(at)
                self._add_connection(record.fields)
                at = record.end
        except (DamageError, UnknownKindError, struct.error):
            return False
        return at > 0

    def _may_have(self, at: int, wanted: set[str]) -> bool:
        """Return whether the chunk that ends at `at` may contain a message of a topic in `wanted`."""
        if not self._is_indexed:
            return True
        indexed = list(self._indexed_connections(at))
        return not indexed or any(self._topics.get(each) in {None, *wanted} for each in indexed)

    def _indexed_connections(self, at: int) -> Iterator[int]:
        while at < self.size:
            record = self._record(at)
            if record.opcode != INDEX:
                return
            yield _number(record.fields, b"conn")
            at = record.end

    def _chunk(self, record: Record) -> Iterator[tuple[Fields, bytes]]:
        """Yield the header and data of each record in a chunk."""
        compression = record.fields.get(b"compression", b"none").decode(errors="replace")
        raw = self.window(record.start, record.length)
        block = open_block(raw, compression if record.length else "none", _number(record.fields, b"size"))
        while block.position < block.size:
            yield _parse_fields(_read_counted(block)), _read_counted(block)
        block.check_end(0)

    def _topic(self, fields: Fields) -> str:
        number = _number(fields, b"conn")
        if number not in self._topics:
            raise DamageError(f"a message of connection {number}, which no record before it describes")
        return self._topics[number]

    def _add_connection(self, fields: Fields) -> str:
        topic = _field(fields, b"topic").decode()
        self._topics[_number(fields, b"conn")] = topic
        return topic

    def _message(self, fields: Fields, data: bytes) -> Message:
        seconds, nanoseconds = struct.unpack("<II", _field(fields, b"time"))
        return Message(seconds * 1_000_000_000 + nanoseconds, data, self._topic(fields))


def _read_counted(block: Block) -> bytes:
    return block.read(int.from_bytes(block.read(4), "little"))


def _parse_fields(header: bytes) -> Fields:
    """Return the fields of a header. Each field consists of a length, a name, "=" and a value."""
    fields: Fields = {}
    at = 0
    while at < len(header):
        end = at + 4 + int.from_bytes(header[at : at + 4], "little")
        name, equals, value = header[at + 4 : end].partition(b"=")
        if end > len(header) or not equals:
            raise DamageError("the header of a record has a field that cannot be read")
        fields[name] = value
        at = end
    return fields


def _field(fields: Fields, name: bytes) -> bytes:
    if name not in fields:
        raise DamageError(f"the header of a record has no field {name.decode()}")
    return fields[name]


def _number(fields: Fields, name: bytes) -> int:
    return int.from_bytes(_field(fields, name), "little")
