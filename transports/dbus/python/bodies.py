"""The bodies of messages: a byte array, or the file descriptor of sealed memory."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dbus_fast import Message

from hopmeter.node.buffers import write_frame
from hopmeter.node.contract import HEADER_BYTES, Fill

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
NEEDED = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE


class ByteArray:
    """A frame as a byte array, which the library copies into its message."""

    has_descriptors = False

    @staticmethod
    def write(payload_bytes: int, fill: Fill) -> bytes:
        """Return a frame that `fill` writes."""
        return write_frame(payload_bytes, fill)

    @staticmethod
    def fields(frame: bytes) -> dict[str, Any]:
        """Return the fields of the message that carries the frame."""
        return {"signature": "ay", "body": [frame]}

    @staticmethod
    def release(frame: bytes) -> None:
        """Do nothing, because the frame is ordinary memory."""

    @staticmethod
    @contextmanager
    def read(message: Message) -> Iterator[Any]:
        """Provide the frame of a message."""
        yield message.body[0]


class SealedMemory:
    """A frame in sealed memory, whose file descriptor is in the message."""

    has_descriptors = True

    @staticmethod
    def write(payload_bytes: int, fill: Fill) -> int:
        """Return the file descriptor of new memory with a frame that `fill` writes. No process can change or shorten
        the memory."""
        memory = os.memfd_create("hopmeter", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(memory, HEADER_BYTES + payload_bytes)
            with mmap.mmap(memory, HEADER_BYTES + payload_bytes) as mapping:
                fill(mapping)
            fcntl.fcntl(memory, fcntl.F_ADD_SEALS, SEALS)  # cannot succeed while the memory is mapped as writable
        except BaseException:
            os.close(memory)
            raise
        return memory

    @staticmethod
    def fields(memory: int) -> dict[str, Any]:
        """Return the fields of the message that carries the frame: the file descriptor, and its index in the body."""
        return {"signature": "h", "body": [0], "unix_fds": [memory]}

    @staticmethod
    def release(memory: int) -> None:
        """Close the file descriptor after the message was sent."""
        os.close(memory)

    @staticmethod
    @contextmanager
    def read(message: Message) -> Iterator[Any]:
        """Provide the frame of a message until the `with` block ends."""
        try:
            memory = _descriptor(message)
            if fcntl.fcntl(memory, fcntl.F_GET_SEALS) & NEEDED != NEEDED:
                raise ValueError("the sender did not seal the memory of a message")
            # Before Linux 6.7, sealed memory cannot be mapped with MAP_SHARED.
            with mmap.mmap(memory, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as mapping:
                yield mapping
        finally:
            discard(message)


def _descriptor(message: Message) -> int:
    """Return the file descriptor to which the body of a message refers."""
    if message.signature != "h" or message.body[0] >= len(message.unix_fds):
        raise ValueError("a message contains no file descriptor")
    return message.unix_fds[message.body[0]]


def discard(message: Message) -> None:
    """Close the file descriptors of a message, if it has any."""
    for descriptor in message.unix_fds:
        os.close(descriptor)


Kind = type[ByteArray] | type[SealedMemory]
KINDS: dict[str, Kind] = {"bytes": ByteArray, "memfd": SealedMemory}
