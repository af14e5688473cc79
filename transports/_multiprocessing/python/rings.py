"""Rings of frames in segments of `multiprocessing.shared_memory`.

A ring begins with a counter of 64 bytes for each receiver, followed by the slots. A counter contains the number of
frames that its receiver has finished, including the frames that were sent before the receiver joined.
"""

from __future__ import annotations

import os
import struct
import sys
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory

from hopmeter.node.contract import AdapterError, Link, Take

LINE = 64
LENGTH = struct.Struct("<Q")
OWN: set[str] = set()
"""The names of the segments that this process created. Only the resource tracker of this process may remove them."""
ANNOUNCEMENT_BYTES = 512
"""The largest size, in bytes, of a message that announces a frame or names a segment."""
SHARED_MEMORY = "/dev/shm"


def create_segment(name: str, size: int) -> SharedMemory:
    """Create a segment of `size` bytes.

    The system reserves no memory for a new segment. If /dev/shm is full when a process writes to the segment, the
    signal SIGBUS kills the process. This function therefore checks first whether /dev/shm has enough free memory.
    """
    free = os.statvfs(SHARED_MEMORY)
    if size > free.f_bavail * free.f_frsize:
        remedy = "use fewer slots or smaller messages, or make /dev/shm larger (docker run --shm-size)"
        raise AdapterError(f"{SHARED_MEMORY} has less free memory than the {size} bytes of the slots", remedy)
    segment = SharedMemory(name, create=True, size=size)
    OWN.add(segment.name)
    return segment


def attach_segment(name: str) -> SharedMemory:
    """Open a segment that another process created, and that only its creator removes.

    Before Python 3.13, the resource tracker treats every process that opens a segment as the segment's owner, and
    removes the segment when this process exits.
    """
    if sys.version_info >= (3, 13):
        return SharedMemory(name, track=False)  # novm
    segment = SharedMemory(name)
    if name not in OWN:
        resource_tracker.unregister(f"/{name}", "shared_memory")
    return segment


def remove_segment(segment: SharedMemory) -> None:
    """Close a segment that this process created, and remove its name."""
    segment.close()
    segment.unlink()
    OWN.discard(segment.name)


def memory_of(segment: SharedMemory) -> memoryview:
    """Return the memory of an open segment."""
    return segment.buf or memoryview(b"")  # `buf` is None only after `close`


def slot_bytes_of(link: Link) -> int:
    """Return the size of a slot that has room for the largest frame of a link."""
    return -(-link.frame_bytes // LINE) * LINE


class Ring:
    """A ring in the memory of a segment."""

    def __init__(self, memory: memoryview, receivers: int, slots: int, slot_bytes: int) -> None:
        self._memory, self._first = memory, receivers * LINE
        self.slots, self.slot_bytes = slots, slot_bytes
        self.done = memory[: receivers * LINE].cast("Q")[:: LINE // 8]
        """The counter of each receiver."""

    @staticmethod
    def size(receivers: int, slots: int, slot_bytes: int) -> int:
        """Return the number of bytes of a ring."""
        return receivers * LINE + slots * slot_bytes

    def slot(self, number: int, length: int) -> memoryview:
        """Return the memory of the frame `number`, which has `length` bytes."""
        start = self._first + number % self.slots * self.slot_bytes
        return self._memory[start : start + length]

    def close(self) -> None:
        self.done.release()
        self._memory.release()


class RingReader:
    """One receiver of a ring, which reads frames in place or copies them first."""

    def __init__(self, ring: Ring, index: int, first: int, frame_bytes: int, copies: bool) -> None:
        """Create the receiver that has the counter `index`, and whose first frame has the number `first`. `frame_bytes`
        is the size of the link's largest frame."""
        self._ring, self._index, self._next = ring, index, first
        self._frame_bytes, self._copies = frame_bytes, copies

    def read(self, length: int, take: Take) -> None:
        """Pass the next frame to `take`, and free the frame's slot: before `take` is called if frames are copied, and
        otherwise after `take` has returned."""
        if length > self._frame_bytes:
            what = f"a frame of {length} bytes, but the largest frame of this link has {self._frame_bytes}"
            raise AdapterError(what, "the sender is not a node of this trial")
        frame = self._ring.slot(self._next, length)
        self._next += 1
        if self._copies:
            copy = bytes(frame)
            self._ring.done[self._index] = self._next
            take(copy)
        else:
            take(frame)
            self._ring.done[self._index] = self._next
