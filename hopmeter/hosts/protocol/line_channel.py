"""Messages between coordinator and agent: JSON objects, one per line, over any pair of file descriptors.

The peer is never trusted. A line that is too long, too deeply nested or not a JSON object raises ChannelError.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections import deque
from typing import Any

from hopmeter.system.untrusted_json import parse

LONGEST_LINE = 1 << 20
MOST_UNREAD_BYTES = 64 << 20
"""The maximum number of unread bytes. A peer that sends more bytes without waiting for answers is neither an agent nor
a coordinator."""
PIECE = 1 << 16
PATIENCE_S = 30.0
"""The timeout in seconds for the peer to read data while a message is waiting to be sent."""


class ChannelError(Exception):
    """The peer sent an invalid message, or does not read messages."""


class ClosedChannelError(ChannelError):
    """The peer has closed the channel."""

    def __init__(self) -> None:
        super().__init__("it closed the connection")


class LineChannel:
    """One side of a channel between coordinator and agent. The descriptor `fileno` becomes readable when messages
    arrive or the peer closes the channel."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        """Use the given file descriptors. The caller must close them."""
        self._read_fd, self._write_fd = read_fd, write_fd
        for each in {read_fd, write_fd}:
            os.set_blocking(each, False)
        self._unread = bytearray()
        self._lines: deque[bytes] = deque()
        self._unread_bytes = 0
        self.closed = False
        """Whether the peer has closed the channel. A closed channel may still have unread messages."""
        self.why_closed = ""
        """The operating system's reason for a lost connection, or an empty string if there is no such reason."""

    @property
    def has_lines(self) -> bool:
        """Return whether the channel has read lines that were not received yet. `poll` does not report lines that the
        channel has already read."""
        return bool(self._lines)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when messages arrive."""
        return self._read_fd

    def send(self, message: dict[str, Any]) -> None:
        """Send a message. Raises ChannelError if the message is too long, or if the peer does not read or has
        disconnected."""
        left = memoryview(self._sign_line(json.dumps(message, separators=(",", ":")).encode()) + b"\n")
        if len(left) > LONGEST_LINE:
            raise ChannelError(f"a message of {len(left):,} bytes exceeds the maximum of {LONGEST_LINE:,}")
        deadline = time.monotonic() + PATIENCE_S
        while left:
            if written := self._write(left):
                left = left[written:]
            elif not self._await_room(deadline - time.monotonic()):
                raise ChannelError(f"it did not read for {PATIENCE_S:.0f} s")

    def wait(self, most_s: float) -> bool:
        """Wait at most `most_s` seconds for data, and return whether data arrived."""
        return bool(_poll({self._read_fd: select.POLLIN}, most_s))

    def _await_room(self, most_s: float) -> bool:
        """Wait until the peer reads or sends data. Return False if neither happens within `most_s` seconds.

        Both sides may be sending at once; therefore this side reads incoming data while it waits to send, which
        prevents a deadlock.
        """
        wanted = {self._write_fd: select.POLLOUT}
        if not self.closed:
            wanted[self._read_fd] = wanted.get(self._read_fd, 0) | select.POLLIN
        ready = _poll(wanted, most_s)
        if not self.closed and ready.get(self._read_fd, 0) & ~select.POLLOUT:
            self._read()
        return bool(ready)

    def _write(self, left: memoryview) -> int:
        try:
            return self._write_piece(left[:PIECE])
        except BlockingIOError:
            return 0
        except OSError as cause:
            self.why_closed = self.why_closed or cause.strerror or ""
            raise ClosedChannelError from cause

    def _write_piece(self, piece: memoryview) -> int:
        return os.write(self._write_fd, piece)

    def _read_piece(self) -> bytes:
        return os.read(self._read_fd, PIECE)

    def _sign_line(self, line: bytes) -> bytes:
        """Return a line to send, with an authentication code in front if the channel uses such codes."""
        return line

    def _check_line(self, line: bytes) -> bytes:
        """Check the authentication code of a received line, and return the line without the code. Raises ChannelError
        if the code shows that the line is forged."""
        return line

    def receive(self) -> list[dict[str, Any]]:
        """Return the messages that have arrived, without blocking. Raises ChannelError if a received line is not a
        message."""
        while not self.closed and self._read():
            pass
        found = [self.parse(line) for line in self._lines]
        self._lines.clear()
        self._unread_bytes = len(self._unread)
        return found

    def receive_line(self) -> bytes | None:
        """Return one line that has arrived, even if the line is not a message, or None if no line has arrived yet."""
        if not self._lines and not self.closed:
            self._read()
        return self._lines.popleft() if self._lines else None

    @staticmethod
    def parse(line: bytes) -> dict[str, Any]:
        """Return the message in a line. Raises ChannelError if the line is not a message."""
        try:
            message = parse(line)
        except ValueError as cause:
            raise ChannelError(f"it sent {_show(line)}, which is not a message") from cause
        if not isinstance(message, dict) or not isinstance(message.get("say"), str):
            raise ChannelError(f"it sent {_show(line)}, which is not a message")
        return message

    def _read(self) -> bool:
        """Read a piece of input from the peer, and return whether there was any input."""
        try:
            piece = self._read_piece()
        except BlockingIOError:
            return False
        except OSError as cause:
            piece, self.why_closed = b"", self.why_closed or cause.strerror or ""
        if not piece:
            self.closed = True
            return False
        head, *others = piece.split(b"\n")
        self._unread += head
        lines = [bytes(self._unread), *others[:-1]] if others else []
        if others:
            self._unread = bytearray(others[-1])
        self._unread_bytes += len(piece)
        longest = max(map(len, [*lines, self._unread]))
        if longest > LONGEST_LINE or self._unread_bytes > MOST_UNREAD_BYTES:
            raise ChannelError(f"it sent a line of more than {LONGEST_LINE:,} bytes, or too many lines at once")
        self._lines += [self._check_line(line) for line in lines]
        return True


def _poll(wanted: dict[int, int], most_s: float) -> dict[int, int]:
    """Wait for the given file descriptors, and return the ready descriptors with their events. `poll` is used because
    `select.select` does not support descriptors above 1023."""
    poll = select.poll()
    for descriptor, events in wanted.items():
        poll.register(descriptor, events)
    return dict(poll.poll(max(0.0, most_s) * 1000))


def _show(line: bytes) -> str:
    return repr(line[:60].decode(errors="replace"))
