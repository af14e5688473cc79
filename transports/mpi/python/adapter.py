"""The adapter for Open MPI with mpi4py: each node is a rank of one job, and each frame is one message. ../README.md
describes how receivers join."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable
from typing import Any

from hopmeter.node.base import BaseTransport, opens, package_version
from hopmeter.node.buffers import page_aligned
from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Setup, Take

from .job import MPI, Job, is_done_by

LOOK_S = 0.01
"""How often a publisher checks for additional receivers after the expected ones have joined."""
PATIENCE_S = 0.01
"""How long `send` waits, like MPI_Send, until the library no longer needs the frame."""
PARTING_S = 0.1
"""How long a link end that closes waits for its unfinished messages."""
MOST_BYTES, MOST_FRAMES = 64 << 20, 64
Place = tuple[int, int]
"""A rank, and a tag that only one link end of this rank uses."""


class Outgoing:
    """A frame, with a request for each receiver that may still need it."""

    def __init__(self, frame_bytes: int) -> None:
        self._frame_bytes = frame_bytes
        self._memory = self.frame = memoryview(b"")
        self.requests: list[tuple[Any, Place]] = []

    def lay_out(self, length: int) -> memoryview:
        """Return memory for a frame of this length."""
        if len(self.frame) != length:
            self._memory = self._memory or page_aligned(self._frame_bytes)
            self.frame = self._memory[:length]
        return self.frame

    def is_done_by(self, until: float) -> bool:
        """Wait until MPI no longer needs the frame for any receiver, at most until the given time. Return whether MPI
        no longer needs the frame."""
        while self.requests:
            if not is_done_by(self.requests[-1][0], until):
                return False
            self.requests.pop()
        return True


class Publisher:
    def __init__(self, transport: Transport, link: Link) -> None:
        self._job = transport.job
        self._tag, self._frame_bytes = self._job.next_tag(), link.frame_bytes
        self.address = f"{os.getpid()}:{self._tag}"
        self._expected = link.receivers
        most = min(max(MOST_BYTES // link.frame_bytes, 2), MOST_FRAMES)
        self._frames = [Outgoing(link.frame_bytes) for _ in range(most)]
        self._receivers: list[Place] = []
        self._looked, self._is_unfinished = 0.0, False
        self._status, self._number = MPI.Status(), array("i", [0])

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if not self._job.has_started():
            self._job.start()
            return False
        if len(self._receivers) < self._expected:
            self._admit()
        if self._is_unfinished:
            self._note_unfinished(not all(each.is_done_by(0.0) for each in self._frames))
        free = next((each for each in self._frames if not each.requests or each.is_done_by(0.0)), None)
        if free is None:
            self._remove_killed()
            return False
        frame = free.lay_out(HEADER_BYTES + payload_bytes)
        fill(frame)
        for rank, tag in self._receivers:
            free.requests.append((MPI.COMM_WORLD.Isend((frame, MPI.BYTE), rank, tag), (rank, tag)))
        if not free.is_done_by(time.monotonic() + PATIENCE_S):
            self._note_unfinished(True)
        if time.monotonic() - self._looked > LOOK_S:
            self._admit()  # after the send, so that the check delays no frame
        return True

    def _note_unfinished(self, is_unfinished: bool) -> None:
        if is_unfinished != self._is_unfinished:
            self._job.count_unfinished(1 if is_unfinished else -1)
        self._is_unfinished = is_unfinished

    def _admit(self) -> None:
        """Add receivers that have joined, and remove receivers that have left."""
        self._looked = time.monotonic()
        world, status = MPI.COMM_WORLD, self._status
        while world.Iprobe(MPI.ANY_SOURCE, self._tag, status):
            rank = status.Get_source()
            world.Recv((self._number, MPI.INT), rank, self._tag)
            tag = self._number[0]
            if tag > 0:
                self._receivers.append((rank, tag))
            else:
                self._remove((rank, -tag).__eq__)

    def _remove_killed(self) -> None:
        """Remove receivers whose processes have ended without closing the receiver."""
        self._admit()
        self._remove(lambda place: not self._job.is_alive(place[0]))

    def _remove(self, has_gone: Callable[[Place], bool]) -> None:
        """Remove receivers. MPI may need their unfinished frames until the end, so replace these frames."""
        self._receivers = [place for place in self._receivers if not has_gone(place)]
        for index, frame in enumerate(self._frames):
            if any(has_gone(place) for _, place in frame.requests):
                self._job.release([request for request, _ in frame.requests], 0.0)
                self._frames[index] = Outgoing(self._frame_bytes)

    def close(self) -> None:
        until = time.monotonic() + PARTING_S
        self._job.release([request for frame in self._frames for request, _ in frame.requests], until)
        self._note_unfinished(False)


class Subscriber:
    def __init__(self, transport: Transport, link: Link) -> None:
        self._job = transport.job
        self._pid, self._publisher_tag = map(int, link.address.split(":"))
        self._tag, self._rank = self._job.next_tag(), -1
        self._buffer = page_aligned(link.frame_bytes)
        self._request: Any = None
        self._status = MPI.Status()

    def poll(self, timeout_s: float, take: Take) -> int:
        if self._request is None:
            self._join()
            return 0
        if not self._request.Test(self._status):
            return 0
        take(self._buffer[: self._status.Get_count(MPI.BYTE)])
        self._receive_next()
        return 1

    def _join(self) -> None:
        """Join the publisher if this process is already a rank of the job."""
        if self._job.has_started():
            self._rank = self._job.rank_of(self._pid)
            self._receive_next()
            self._tell(self._tag)

    def _receive_next(self) -> None:
        self._request = MPI.COMM_WORLD.Irecv((self._buffer, MPI.BYTE), self._rank, self._tag)

    def _tell(self, tag: int) -> None:
        """Send the publisher this receiver's tag to join, or its negative tag to leave."""
        request = MPI.COMM_WORLD.Isend((array("i", [tag]), MPI.INT), self._rank, self._publisher_tag)
        self._job.release([request], time.monotonic() + PARTING_S)

    def close(self) -> None:
        if self._request is not None:
            self._tell(-self._tag)
            self._request.Cancel()
            self._job.release([self._request], time.monotonic() + PARTING_S)


def find_path() -> str:
    """Return how the bytes travel. With `vader`, a process maps its own segment, and one of each rank it reaches."""
    with open("/proc/self/maps") as maps:
        segments = {line.partition("/vader_segment.")[2] for line in maps} - {""}
    return "shared memory (BTL vader)" if len(segments) > 1 else "TCP on the loopback device (BTL tcp)"


class Transport(BaseTransport):
    publisher, subscriber = opens(Publisher), opens(Subscriber)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.job = Job(setup)

    @staticmethod
    def version() -> str:
        library = MPI.Get_library_version().partition(",")[0]
        return f"{library}, {package_version('mpi4py', 'mpi4py').__func__()}"

    def facts(self) -> dict[str, str]:
        return {"path": find_path()}

    def close(self) -> None:
        self.job.close()
