"""Write MCAP files byte by byte with any combination of the format's optional parts."""

from __future__ import annotations

import itertools
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import lz4.frame

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
ATTACHMENT, ATTACHMENT_INDEX, STATISTICS, METADATA, METADATA_INDEX, SUMMARY_OFFSET, DATA_END = range(9, 16)
COMPRESSORS = {"": bytes, "zstd": zstd.compress, "lz4": lz4.frame.compress}


class Sent(NamedTuple):
    topic: str
    time_ns: int
    data: bytes


@dataclass(frozen=True)
class Parts:
    """The optional parts of an MCAP file."""

    chunks: str | None = ""
    """The compression of the chunks, or None for a file without chunks."""
    message_index: bool = True
    chunk_index: bool = True
    repeated: bool = True
    """Whether the summary repeats schemas and channels."""
    statistics: bool = True
    summary_offsets: bool = True
    crcs: bool = True
    extras: bool = False
    """Whether the file has attachments, metadata, private records, records of later versions and an empty chunk."""
    padded: bool = False
    """Whether records have unknown additional fields, and channels have no schema."""


def every_combination(chunks: str | None) -> Iterator[Parts]:
    """Return all combinations of the optional parts for one compression of chunks."""
    names = [each.name for each in fields(Parts)][1:]
    for values in itertools.product((False, True), repeat=len(names)):
        yield Parts(chunks, **dict(zip(names, values, strict=True)))


Kind = tuple[str, str, str]
"""The name of a type, the format of its definition, and the definition."""
KIND: Kind = ("kind", "", "")


def write(
    messages: Iterable[Sent], parts: Parts, more: Iterable[str] = (), kinds: Mapping[str, Kind] | None = None
) -> bytes:
    """Return the bytes of a file with these messages, and with the channels of additional topics that have no messages.
    `kinds` maps topics to message types."""
    return _File(parts, kinds or {}).build(list(messages), list(more))


class _File:
    def __init__(self, parts: Parts, kinds: Mapping[str, Kind]) -> None:
        self.parts, self.kinds = parts, kinds
        self.out = bytearray(MAGIC)
        self.channels: dict[str, bytes] = {}
        self.indexes: list[tuple[int, bytes]] = []
        self.counts: dict[int, int] = {}

    def build(self, messages: list[Sent], more: list[str]) -> bytes:
        self.out += record(HEADER, text("any") + text("test") + self.pad)
        self.extras()
        batches = [messages[at : at + 4] for at in range(0, len(messages), 4)]
        for batch in batches:
            self.batch(batch)
        for topic in more:
            self.chunk([self.channel(topic)], [])
        self.extras()
        crc = zlib.crc32(self.out) if self.parts.crcs else 0
        self.out += record(DATA_END, struct.pack("<I", crc))
        self.summary(len(batches))
        return bytes(self.out)

    @property
    def pad(self) -> bytes:
        return b"later" if self.parts.padded else b""

    def extras(self) -> None:
        if self.parts.extras:
            self.out += record(
                ATTACHMENT, bytes(16) + text("a.txt") + text("") + struct.pack("<Q", 3) + b"abc" + bytes(4)
            )
            self.out += record(METADATA, text("m") + prefix(text("key") + text("value")))
            self.out += record(0x80, b"private") + record(0x7F, b"of a later version")
            if self.parts.chunks is not None:
                self.chunk([], [])

    def batch(self, batch: list[Sent]) -> None:
        records, index = [], []
        for one in batch:
            if one.topic not in self.channels:
                records.append(self.channel(one.topic))
            index.append((self.number(one.topic), one.time_ns, sum(map(len, records))))
            head = struct.pack("<HIQQ", self.number(one.topic), 0, one.time_ns, 7)  # the publish time is 7
            records.append(record(MESSAGE, head + one.data))
            self.counts[index[-1][0]] = self.counts.get(index[-1][0], 0) + 1
        self.chunk([*records, *([record(0x81, b"private")] if self.parts.extras else [])], index)

    def number(self, topic: str) -> int:
        return list(self.channels).index(topic) + 1

    def channel(self, topic: str) -> bytes:
        number = len(self.channels) + 1
        kind = b"".join(map(text, self.kinds.get(topic, KIND)))
        schema = record(SCHEMA, struct.pack("<H", number) + kind + self.pad)
        ids = struct.pack("<HH", number, 0 if self.parts.padded else number)
        channel = record(CHANNEL, ids + text(topic) + text("cdr") + prefix(text("a") + text("b")) + self.pad)
        self.channels[topic] = (b"" if self.parts.padded else schema) + channel
        return self.channels[topic]

    def chunk(self, records: list[bytes], index: list[tuple[int, int, int]]) -> None:
        content, compression = b"".join(records), self.parts.chunks
        if compression is None:
            self.out += content
            return
        times = [time for _, time, _ in index] or [0]
        head = struct.pack("<QQQI", min(times), max(times), len(content), zlib.crc32(content) if self.parts.crcs else 0)
        packed = COMPRESSORS[compression](content)
        at = len(self.out)
        self.out += record(CHUNK, head + text(compression) + struct.pack("<Q", len(packed)) + packed + self.pad)
        self.index(at, index, head, packed)

    def index(self, at: int, index: list[tuple[int, int, int]], head: bytes, packed: bytes) -> None:
        end, offsets = len(self.out), b""
        for number in sorted({number for number, _, _ in index}) if self.parts.message_index else ():
            offsets += struct.pack("<HQ", number, len(self.out))
            entries = b"".join(struct.pack("<QQ", time, place) for each, time, place in index if each == number)
            self.out += record(MESSAGE_INDEX, struct.pack("<H", number) + prefix(entries))
        ends = struct.pack("<Q", len(self.out) - end) + text(self.parts.chunks or "") + struct.pack("<Q", len(packed))
        body = head[:16] + struct.pack("<QQ", at, end - at) + prefix(offsets) + ends + head[16:24]
        self.indexes.append((CHUNK_INDEX, record(CHUNK_INDEX, body + self.pad)))

    def summary(self, chunks: int) -> None:
        start, groups = len(self.out), []
        for opcode, content in self.summary_groups(chunks):
            groups.append(struct.pack("<BQQ", opcode, len(self.out), len(content)))
            self.out += content
        offsets = len(self.out) if self.parts.summary_offsets and groups else 0
        for group in groups if offsets else ():
            self.out += record(SUMMARY_OFFSET, group)
        footer = record(FOOTER, struct.pack("<QQI", start if groups else 0, offsets, 0))[:-4]
        crc = zlib.crc32(self.out[start:] + footer) if self.parts.crcs else 0
        self.out += footer + struct.pack("<I", crc) + MAGIC

    def summary_groups(self, chunks: int) -> Iterator[tuple[int, bytes]]:
        if self.parts.repeated:
            yield CHANNEL, b"".join(self.channels.values())
        if self.parts.chunk_index and self.indexes:
            yield CHUNK_INDEX, b"".join(content for _, content in self.indexes)
        if self.parts.statistics:
            counts = b"".join(struct.pack("<HQ", *each) for each in self.counts.items()) if self.parts.repeated else b""
            numbers = sum(self.counts.values()), len(self.channels), len(self.channels), 0, 0, chunks, 0, 0
            yield STATISTICS, record(STATISTICS, struct.pack("<QHIIIIQQ", *numbers) + prefix(counts) + self.pad)


def record(opcode: int, content: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(content)) + content


def prefix(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def text(value: str) -> bytes:
    return prefix(value.encode())
