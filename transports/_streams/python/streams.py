"""What `unix` and `tcp` share in Python: frames over connected stream sockets, as ../README.md lays them down."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable

from hopmeter.node.buffers import page_aligned
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Handle, Setup, Take

LENGTH = struct.Struct("<Q")
PREFIX_BYTES = 64
"""The length, and zeros up to a cache line, from where the kernel copies fastest."""
AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
LONGEST_SEND_S = 0.1
SMALLEST_BUFFER = 65536
GONE = (BrokenPipeError, ConnectionResetError)
POLLS_PER_LOOK = 256
"""How often a server that is kept busy looks for new clients: once in so many polls."""
Prepare = Callable[[socket.socket], None]
"""Sets what an accepted connection does not inherit from the listening socket."""


def inherits(connection: socket.socket) -> None:
    """A connection that inherits all."""


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


class Draft:
    """One buffer that holds prefix and frame."""

    def __init__(self, frame_bytes: int) -> None:
        self._buffer = page_aligned(PREFIX_BYTES + frame_bytes)
        self._message = self._frame = self._buffer[:0]

    def message(self, payload_bytes: int, fill: Fill) -> memoryview:
        """A frame as `fill` writes it, with its prefix."""
        if len(self._frame) != HEADER_BYTES + payload_bytes:
            self._lay_out(HEADER_BYTES + payload_bytes)
        fill(self._frame)
        return self._message

    def _lay_out(self, length: int) -> None:
        self._message = self._buffer[: PREFIX_BYTES + length]
        self._frame = self._message[PREFIX_BYTES:]
        LENGTH.pack_into(self._message, 0, length)


class Publisher:
    """The sending end, with a thread that accepts receivers."""

    def __init__(self, setup: Setup, listener: socket.socket, address: str, prepare: Prepare = inherits) -> None:
        self.address = address
        self._listener, self._prepare = listener, prepare
        self._draft = Draft(setup.frame_bytes)
        self._receivers: list[Receiver] = []
        self._joining: deque[Receiver] = deque()
        self._accepting = threading.Thread(target=self._accept, name="accept", daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        try:
            while True:
                connection = self._listener.accept()[0]
                self._prepare(connection)
                self._joining.append(Receiver(connection))
        except OSError:
            pass  # `close` shut the listener down

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        while self._joining:
            self._receivers.append(self._joining.popleft())
        for receiver in self._receivers:
            if receiver.backlog:
                return False
        return self._deliver(self._draft.message(payload_bytes, fill))

    def _deliver(self, message: memoryview) -> bool:
        """Busy if the first receiver takes nothing; else every receiver gets the whole message."""
        sent, gone = 0, False
        for receiver in self._receivers:
            if sent:
                receiver.finish(message)
            elif (sent := receiver.offer(message)) == 0:
                return False
            elif sent < len(message):
                receiver.finish(message[sent:])
            gone |= receiver.gone
        if gone:
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

    @property
    def ended(self) -> bool:
        """Whether the other end has closed the connection."""
        return self._ended

    def poll(self, timeout_s: float, take: Take) -> int:
        waits = not self._spins and timeout_s > 0
        if waits and timeout_s != self._patience_s:
            set_patience(self._connection, socket.SO_RCVTIMEO, timeout_s)
            self._patience_s = timeout_s
        if self._ended:
            time.sleep(timeout_s if waits else 0)
            return 0
        count = 0
        while not count and self._receive(waits):
            count = self._hand_over(take)
        return count

    def _receive(self, waits: bool) -> bool:
        """Asks for the rest of a frame that has begun, else for all that fits; answers whether anything came."""
        rest, flags = self._wanted()
        try:
            came = self._connection.recv_into(rest, 0, flags if waits else socket.MSG_DONTWAIT)
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


class Line:
    """The sending half of a connection that also receives: a client's requests, or a server's replies to one client."""

    def __init__(self, setup: Setup, connection: socket.socket) -> None:
        self._reader = Receiver(connection)
        self._draft = Draft(setup.frame_bytes)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self._reader.backlog:
            return False
        message = self._draft.message(payload_bytes, fill)
        sent = self._reader.offer(message)
        if 0 < sent < len(message):
            self._reader.finish(message[sent:])
        return sent > 0


class Client(Subscriber):
    """The asking end: requests and replies on one connection."""

    def __init__(self, setup: Setup, connection: socket.socket) -> None:
        super().__init__(setup, connection)
        self.start = Line(setup, connection).send


class Caller(Subscriber):
    """A client as its server sees it."""

    def __init__(self, setup: Setup, connection: socket.socket) -> None:
        super().__init__(setup, connection)
        self.reply = Line(setup, connection).send

    def fileno(self) -> int:
        return self._connection.fileno()

    def answer(self, timeout_s: float, handle: Handle) -> int:
        return self.poll(timeout_s, lambda frame: handle(frame, self.reply))


class Server:
    """The answering end. One client is waited for in its `recv`, several by `poll`."""

    def __init__(self, setup: Setup, listener: socket.socket, address: str, prepare: Prepare = inherits) -> None:
        self.address = address
        self._setup, self._listener, self._prepare = setup, listener, prepare
        self._blocks = setup.wait != "spin"
        self._callers: list[Caller] = []
        self._polls = 0
        listener.setblocking(False)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        in_recv_s = timeout_s if len(self._callers) == 1 else 0.0
        if self._blocks and in_recv_s != timeout_s:
            self._sleep(timeout_s)
        count = sum([caller.answer(in_recv_s, handle) for caller in self._callers])
        self._polls += 1
        # A server that waits in `recv` hears of new clients only here: whenever nothing came, and now and then.
        if (self._blocks and not count) or not self._callers or self._polls % POLLS_PER_LOOK == 0:
            self._look_round()
        return count

    def _sleep(self, timeout_s: float) -> None:
        places = select.poll()
        for each in (self._listener, *self._callers):
            places.register(each, select.POLLIN)
        places.poll(timeout_s * 1000)

    def _look_round(self) -> None:
        """Lets new clients in, and forgets those that have left."""
        for caller in [each for each in self._callers if each.ended]:
            self._callers.remove(caller)
            caller.close()
        try:
            while True:
                connection = self._listener.accept()[0]
                self._prepare(connection)
                self._callers.append(Caller(self._setup, connection))
        except BlockingIOError:
            pass

    def close(self) -> None:
        for each in (self._listener, *self._callers):
            each.close()
