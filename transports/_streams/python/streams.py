"""What `unix` and `tcp` share in Python: frames over connected stream sockets, as ../README.md lays them down."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import deque

from hopmeter.node.buffers import page_aligned
from hopmeter.node.contract import AdapterError, Fill, Setup, Take

LENGTH = struct.Struct("<Q")
PREFIX_BYTES = 64
"""The length, and zeros up to a cache line, from where the kernel copies fastest."""
AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
LONGEST_SEND_S = 0.1
SMALLEST_BUFFER = 65536
GONE = (BrokenPipeError, ConnectionResetError)


def set_buffer(sock: socket.socket, option: int, wanted: int, limit: str) -> None:
    """Sets SO_SNDBUF or SO_RCVBUF; 0 leaves the system's. Linux cuts silently, which is an error here."""
    if not wanted:
        return
    sock.setsockopt(socket.SOL_SOCKET, option, wanted)
    if sock.getsockopt(socket.SOL_SOCKET, option) < 2 * wanted:
        raise AdapterError(f"the system refuses a socket buffer of {wanted} bytes", f"raise {limit} with sysctl")


def set_patience(sock: socket.socket, option: int, seconds: float) -> None:
    """Sets SO_SNDTIMEO or SO_RCVTIMEO: unlike `settimeout`, this costs no extra system call for every message."""
    whole = int(seconds)
    sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", whole, max(1, int((seconds - whole) * 1e6))))


class Receiver:
    """One connection of a publisher's, and what it has not taken yet. A receiver that is gone takes everything."""

    def __init__(self, connection: socket.socket) -> None:
        set_patience(connection, socket.SO_SNDTIMEO, LONGEST_SEND_S)
        self.connection = connection
        self.backlog = memoryview(b"")
        self.gone = False

    def offer(self, message: memoryview, flags: int = AT_ONCE) -> int:
        """Sends what goes without waiting; answers how many bytes that was."""
        try:
            return self.connection.send(message, flags)
        except BlockingIOError:
            return 0
        except GONE:
            self.gone = True
            return len(message)

    def finish(self, rest: memoryview) -> None:
        """Sends with waiting; what is left after a while becomes the backlog, which a thread finishes."""
        sent = self.offer(rest, socket.MSG_NOSIGNAL)
        if sent < len(rest):
            self.backlog = memoryview(bytes(rest[sent:]))
            threading.Thread(target=self._finish_later, name="backlog", daemon=True).start()

    def _finish_later(self) -> None:
        """Sends the backlog as the receiver takes it, whether or not anything is sent after it."""
        while self.backlog:
            try:
                self.backlog = self.backlog[self.offer(self.backlog, socket.MSG_NOSIGNAL) :]
            except OSError:
                self.backlog = memoryview(b"")  # `close` closed the connection


class Publisher:
    """The sending end: one buffer that holds prefix and frame, and a thread that accepts receivers."""

    def __init__(self, setup: Setup, listener: socket.socket, address: str) -> None:
        self.address = address
        self._listener = listener
        self._buffer = page_aligned(PREFIX_BYTES + setup.frame_bytes)
        self._message = self._frame = self._buffer[:0]
        self._receivers: list[Receiver] = []
        self._joining: deque[Receiver] = deque()
        self._accepting = threading.Thread(target=self._accept, name="accept", daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        try:
            while True:
                self._joining.append(Receiver(self._listener.accept()[0]))
        except OSError:
            pass  # `close` shut the listener down

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        while self._joining:
            self._receivers.append(self._joining.popleft())
        if any(receiver.backlog for receiver in self._receivers):
            return False
        if len(self._frame) != 64 + payload_bytes:
            self._lay_out(64 + payload_bytes)
        fill(self._frame)
        return self._deliver()

    def _lay_out(self, length: int) -> None:
        self._message = self._buffer[: PREFIX_BYTES + length]
        self._frame = self._message[PREFIX_BYTES:]
        LENGTH.pack_into(self._message, 0, length)

    def _deliver(self) -> bool:
        """Busy if the first receiver takes nothing; else every receiver gets the whole message."""
        sent = 0
        for receiver in self._receivers:
            begun = sent
            sent = sent or receiver.offer(self._message)
            if not sent:
                return False
            if not begun and sent < len(self._message):
                receiver.finish(self._message[sent:])
            elif begun:
                receiver.finish(self._message)
        if any(receiver.gone for receiver in self._receivers):
            self._receivers = [receiver for receiver in self._receivers if not receiver.gone]
        return True

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for receiver in (*self._receivers, *self._joining):
            receiver.connection.close()


class Subscriber:
    """The receiving end: one buffer that a `recv` fills as far as it can."""

    def __init__(self, setup: Setup, connection: socket.socket) -> None:
        self._connection = connection
        self._frame_bytes = setup.frame_bytes
        self._spins = setup.wait == "spin"
        self._patience_s = 0.0
        self._buffer = page_aligned(max(PREFIX_BYTES + setup.frame_bytes, SMALLEST_BUFFER))
        self._end = 0
        self._ended = False

    def poll(self, timeout_s: float, take: Take) -> int:
        if not self._spins and timeout_s != self._patience_s:
            set_patience(self._connection, socket.SO_RCVTIMEO, timeout_s)
            self._patience_s = timeout_s
        count = 0
        while not count and self._receive(timeout_s):
            count = self._hand_over(take)
        return count

    def _receive(self, timeout_s: float) -> bool:
        """Asks for the rest of a frame that has begun, else for all that fits; answers whether anything came."""
        if self._ended:
            time.sleep(0 if self._spins else timeout_s)
            return False
        rest, flags = self._wanted()
        try:
            came = self._connection.recv_into(rest, 0, socket.MSG_DONTWAIT if self._spins else flags)
        except BlockingIOError:
            return False
        except GONE:
            came = 0
        self._end += came
        self._ended = not came
        return came > 0

    def _wanted(self) -> tuple[memoryview, int]:
        if self._end < PREFIX_BYTES:
            return self._buffer[self._end :] if self._end else self._buffer, 0
        return self._buffer[self._end : PREFIX_BYTES + self._length(0)], socket.MSG_WAITALL

    def _hand_over(self, take: Take) -> int:
        """Gives every whole frame to the role, and moves the beginning of the next one to the front."""
        start, end, count = 0, self._end, 0
        while end - start >= PREFIX_BYTES and (after := start + PREFIX_BYTES + self._length(start)) <= end:
            take(self._buffer[start + PREFIX_BYTES : after])
            start, count = after, count + 1
        if 0 < start < end:
            self._buffer[: end - start] = self._buffer[start:end]
        self._end = end - start
        return count

    def _length(self, start: int) -> int:
        (length,) = LENGTH.unpack_from(self._buffer, start)
        if length > self._frame_bytes:
            largest = f"{self._frame_bytes} bytes is the largest frame of this trial"
            raise AdapterError(f"the stream announces a frame of {length} bytes", f"{largest}; the sender is not ours")
        return int(length)

    def close(self) -> None:
        self._connection.close()
