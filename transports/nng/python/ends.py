"""Sockets of pynng as the instrument uses them: messages in nng's own memory, and waits with a timeout."""

from __future__ import annotations

import select
import time
from typing import Any

import pynng
from pynng import ffi, lib

from hopmeter.node.contract import HEADER_BYTES, Fill, Handle, Setup, Take

LONGEST_CALL_S = 1.0  # how long a call without a reply prevents a new one


class Message:
    """A message that nng received; freeing it frees its memory."""

    def __init__(self, message: Any) -> None:
        self._message = message
        self.frame = ffi.buffer(lib.nng_msg_body(message), lib.nng_msg_len(message))

    def __del__(self) -> None:
        lib.nng_msg_free(self._message)


class End:
    """A socket that sends and receives messages in nng's memory. It uses the low-level functions of pynng, because
    pynng's `send` and `recv` copy."""

    def __init__(self, socket: pynng.Socket, setup: Setup, address: str = "") -> None:
        self.address = address
        self._socket = socket
        self._handle = socket.socket
        self._received = ffi.new("nng_msg **")
        self._readable: select.poll | None = None
        self._spins = setup.wait == "spin"

    def send_frame(self, payload_bytes: int, fill: Fill, flags: int = lib.NNG_FLAG_NONBLOCK) -> bool:
        allocated = ffi.new("nng_msg **")
        pynng.check_err(lib.nng_msg_alloc(allocated, HEADER_BYTES + payload_bytes))
        message = allocated[0]
        code = lib.NNG_ECANCELED
        try:
            fill(ffi.buffer(lib.nng_msg_body(message), HEADER_BYTES + payload_bytes))
            code = lib.nng_sendmsg(self._handle, message, flags)
        finally:
            if code != 0:  # otherwise nng owns it
                lib.nng_msg_free(message)
        if code in (lib.NNG_EAGAIN, lib.NNG_ETIMEDOUT):
            return False
        pynng.check_err(code)
        return True

    def receive(self, timeout_s: float) -> Message | None:
        if not self._spins and not self._wait(timeout_s):
            return None
        code = lib.nng_recvmsg(self._handle, self._received, lib.NNG_FLAG_NONBLOCK)
        if code == lib.NNG_EAGAIN:
            return None
        pynng.check_err(code)
        return Message(self._received[0])

    def _wait(self, timeout_s: float) -> bool:
        """Wait with a poll, because nng's own timeout would end the whole call of a REQ socket."""
        if self._readable is None:
            self._readable = select.poll()
            self._readable.register(self._socket.recv_fd, select.POLLIN)
        return bool(self._readable.poll(timeout_s * 1000))

    def close(self) -> None:
        self._socket.close()


class Publisher(End):
    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.send_frame(payload_bytes, fill)


class Subscriber(End):
    def poll(self, timeout_s: float, take: Take) -> int:
        message = self.receive(timeout_s)
        if message is None:
            return 0
        take(message.frame)
        return 1


class Client(End):
    """A client. REQ has one call under way. For a new call, nng would drop the current one, and with it a reply that is
    only late. So a new call is busy until the reply has come or will not come any more."""

    _started: float | None = None
    _late: Message | None = None

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        if self._started is not None and not self._is_over(self._started):
            return False
        accepted = self.send_frame(payload_bytes, fill)
        self._started = time.monotonic() if accepted else None
        return accepted

    def poll(self, timeout_s: float, take: Take) -> int:
        message = self._next_reply(timeout_s)
        if message is None:
            return 0
        take(message.frame)
        return 1

    def _is_over(self, started: float) -> bool:
        """Whether the call under way has its reply, which is stored, or has waited long enough."""
        if self._late is None:
            self._late = self.receive(0)
            if self._late is not None:
                return True
        return time.monotonic() - started >= LONGEST_CALL_S

    def _next_reply(self, timeout_s: float) -> Message | None:
        message, self._late = self._late, None
        if message is not None:
            return message
        if self._started is None:  # nng reports an error for receiving without a call
            if not self._spins:
                time.sleep(timeout_s)
            return None
        message = self.receive(timeout_s)
        if message is not None:
            self._started = None
        return message


class Server(End):
    def poll(self, timeout_s: float, handle: Handle) -> int:
        message = self.receive(timeout_s)
        if message is None:
            return 0
        handle(message.frame, self._reply)
        return 1

    def _reply(self, payload_bytes: int, fill: Fill) -> bool:
        """Send a reply. A reply that cannot be sent in time is lost, like a reply to a client that has gone."""
        self.send_frame(payload_bytes, fill, 0)
        return True
