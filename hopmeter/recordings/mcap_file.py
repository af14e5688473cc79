"""Reads the records of an MCAP file in the order of its data section.

The summary and the message indexes of a file are optional, and are read only to save time.
"""

from __future__ import annotations

import io
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
    unpack_message,
)

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, STATISTICS, DATA_END = 2, 3, 4, 5, 6, 7, 11, 15
RECORD = struct.Struct("<BQ")
MESSAGE_HEAD = struct.Struct("<HIQQ")
CHUNK_HEAD = struct.Struct("<QQQII")
FOOTER_BODY = struct.Struct("<QQI")
NO_END = "the file ends after its last whole record, without the end of its format, as if its recorder was killed"

Record = tuple[int, int, int]
"""A record's opcode, the position of its content, and the length of its content in bytes."""


class Channel(NamedTuple):
    """The contents of a channel record, which states the topic and the encoding of messages."""

    topic: str
    encoding: str
    schema: int = 0
    """The id of the schema of the channel's messages, or 0 if there is none."""


class Schema(NamedTuple):
    """The contents of a schema record, which describes a message type."""

    name: str
    format: str
    text: str


class McapFile(RecordFile):
    """An open MCAP file."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        if self.read(0, min(len(MAGIC), self.size)) != MAGIC:
            raise UnknownKindError("another version of MCAP than 0, or is cut off in its first bytes")
        self._channels: dict[int, Channel] = {}
        self._schemas: dict[int, Schema] = {}
        self._is_indexed = self._read_summary()
        self._is_checked = True

    def topics(self) -> Iterator[str]:
        """Yield the topics of the file. A topic may be yielded more than once."""
        yield from [channel.topic for channel in self._channels.values()]
        for opcode, start, length in () if self._is_indexed else self._data():
            if opcode == CHANNEL:
                yield self._add_channel(self.read(start, length)).topic
            elif opcode == CHUNK:
                yield from (self._add_channel(content).topic for kind, content in self._chunk(start) if kind == CHANNEL)

    def types(self) -> Iterator[tuple[str, RecordedType]]:
        """Yield the topics of the file with their message types. A topic may be yielded more than once."""
        for _ in self.topics():
            pass
        if not {channel.schema for channel in self._channels.values() if channel.schema} <= set(self._schemas):
            self._find_schemas()
        for channel in self._channels.values():
            name, form, text = self._schemas.get(channel.schema, Schema("", "", ""))
            yield channel.topic, RecordedType(name, channel.encoding, text, form)

    def _find_schemas(self) -> None:
        """Read the schemas in the data section, because the summary may omit schemas."""
        for opcode, start, length in self._data():
            if opcode == SCHEMA:
                self._add_schema(self.read(start, length))
            elif opcode == CHUNK:
                for kind, content in self._chunk(start):
                    if kind == SCHEMA:
                        self._add_schema(content)

    def _add_schema(self, content: bytes) -> None:
        number, schema = _parse_schema(content)
        self._schemas[number] = schema

    def messages(self, wanted: set[str]) -> Iterator[Message]:
        """Yield the messages of the topics in `wanted`, in file order.

        The caller may remove topics from `wanted` during the iteration.
        """
        for opcode, start, length in self._data():
            if not wanted:
                return
            if opcode == MESSAGE and self._channel(self.read(start, 2)).topic in wanted:
                self._is_checked = False
                yield self._message(self.read(start, length))
            elif opcode == CHANNEL:
                self._add_channel(self.read(start, length))
            elif opcode == CHUNK and self._may_have(start + length, wanted):
                yield from self._chunk_messages(start, wanted)

    def _data(self) -> Iterator[Record]:
        """Yield the records of the data section.

        Raises DamageError if the data section is truncated or its CRC does not match.
        """
        for opcode, start, length in self._records(len(MAGIC), self.size):
            if opcode in (DATA_END, FOOTER):
                if opcode == DATA_END and not self._is_checked:
                    self._check_data(start)
                break
            yield opcode, start, length
        if self.read(max(0, self.size - len(MAGIC)), len(MAGIC)) != MAGIC and NO_END not in self.notes:
            self.notes.append(NO_END)

    def _check_data(self, start: int) -> None:
        """Compare the CRC of the data section with the CRC in the section's last record; a CRC of 0 in the record is
        ignored.

        Raises DamageError if the CRCs differ.
        """
        [crc] = struct.unpack("<I", self.read(start, 4))
        if crc and crc != self.crc(0, start - RECORD.size):
            raise DamageError("the bytes of the data section do not have the CRC that is stated at its end")

    def _records(self, at: int, end: int) -> Iterator[Record]:
        while at < end:
            opcode, length = RECORD.unpack(self.read(at, RECORD.size, at))
            if opcode == 0:
                raise DamageError(f"the record at byte {at:,} has the opcode 0")
            if at + RECORD.size + length > self.size:
                raise CutOffError(at, self.size)
            yield opcode, at + RECORD.size, length
            at += RECORD.size + length

    def _read_summary(self) -> bool:
        """Read the channels in the summary, and return whether the summary lists all channels.

        A corrupted summary is treated as missing.
        """
        try:
            channels, count = self._summary()
        except (DamageError, UnknownKindError, struct.error, UnicodeDecodeError):
            return False
        self._channels |= channels
        return len(channels) == count

    def _summary(self) -> tuple[dict[int, Channel], int | None]:
        """Return the channels in the summary, and the number of channels according to the summary's statistics."""
        at = self.size - len(MAGIC) - FOOTER_BODY.size - RECORD.size
        if at < len(MAGIC) or RECORD.unpack(self.read(at, RECORD.size)) != (FOOTER, FOOTER_BODY.size):
            return {}, None
        start, _, crc = FOOTER_BODY.unpack(self.read(at + RECORD.size, FOOTER_BODY.size))
        if not len(MAGIC) < start < at or (crc and crc != self.crc(start, at + RECORD.size + FOOTER_BODY.size - 4)):
            return {}, None
        channels, count = {}, None
        for opcode, place, length in self._records(start, at):
            if opcode == CHANNEL:
                number, channel = _parse_channel(self.read(place, length))
                channels[number] = channel
            elif opcode == SCHEMA:
                self._add_schema(self.read(place, length))
            elif opcode == STATISTICS:
                [count] = struct.unpack_from("<I", self.read(place, length), 10)
        return channels, count

    def _may_have(self, after: int, wanted: set[str]) -> bool:
        """Return whether the chunk that ends at `after` may contain a message of a topic in `wanted`."""
        if not self._is_indexed:
            return True
        indexed = list(self._indexed_channels(after))
        return not indexed or any(
            each not in self._channels or self._channels[each].topic in wanted for each in indexed
        )

    def _indexed_channels(self, at: int) -> Iterator[int]:
        for opcode, start, _ in self._records(at, self.size):
            if opcode != MESSAGE_INDEX:
                return
            yield int.from_bytes(self.read(start, 2), "little")

    def _chunk_messages(self, start: int, wanted: set[str]) -> Iterator[Message]:
        for opcode, content in self._chunk(start):
            if opcode == CHANNEL:
                self._add_channel(content)
            elif opcode == MESSAGE and self._channel(content).topic in wanted:
                yield self._message(content)

    def _chunk(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield the opcode and content of each record in a chunk. Raises DamageError if the chunk's CRC does not
        match."""
        _, _, size, crc, named = CHUNK_HEAD.unpack(self.read(start, CHUNK_HEAD.size))
        start += CHUNK_HEAD.size
        compression = self.read(start, named).decode()
        [length] = struct.unpack("<Q", self.read(start + named, 8))
        raw = self.window(start + named + 8, length)
        yield from _block_records(open_block(raw, compression if length else "", size), crc)
        self._is_checked &= bool(crc)

    def _channel(self, message: bytes) -> Channel:
        number = int.from_bytes(message[:2], "little")
        if number not in self._channels:
            raise DamageError(f"a message of channel {number}, which no record before it describes")
        return self._channels[number]

    def _add_channel(self, content: bytes) -> Channel:
        number, channel = _parse_channel(content)
        self._channels[number] = channel
        return channel

    def _message(self, content: bytes) -> Message:
        number, _, logged_ns, _ = MESSAGE_HEAD.unpack_from(content)
        channel = self._channels[number]
        return Message(logged_ns, unpack_message(content[MESSAGE_HEAD.size :], channel.encoding), channel.topic)


def _block_records(block: Block, crc: int) -> Iterator[tuple[int, bytes]]:
    while block.position < block.size:
        opcode, length = RECORD.unpack(block.read(RECORD.size))
        yield opcode, block.read(length)
    block.check_end(crc)


def _parse_channel(content: bytes) -> tuple[int, Channel]:
    number, schema = struct.unpack_from("<HH", content)
    stream = io.BytesIO(content[4:])
    return number, Channel(_string(stream), _string(stream), schema)


def _parse_schema(content: bytes) -> tuple[int, Schema]:
    """Parse a schema record. A schema may be binary; bytes that are not valid text are replaced."""
    stream = io.BytesIO(content[2:])
    name, form = _string(stream), _string(stream)
    [length] = struct.unpack("<I", stream.read(4))
    return int.from_bytes(content[:2], "little"), Schema(name, form, stream.read(length).decode(errors="replace"))


def _string(stream: io.BytesIO) -> str:
    [length] = struct.unpack("<I", stream.read(4))
    found = stream.read(length)
    if len(found) < length:
        raise DamageError("a text continues beyond the end of its record")
    return found.decode()
