"""aioquic connections that split the arriving bytes into frames."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.quic.events import (
    ConnectionTerminated,
    DatagramFrameReceived,
    HandshakeCompleted,
    QuicEvent,
    StopSendingReceived,
    StreamDataReceived,
    StreamReset,
)
from aioquic.quic.packet import QuicErrorCode
from aioquic.quic.stream import QuicStreamSender

LENGTH = struct.Struct("<Q")
"""The length of a frame, which precedes each frame on a publisher's stream."""
LARGEST_DATAGRAM = 1150
"""The largest frame in bytes that fits into a packet of aioquic, which has 1200 bytes."""


class Connection(QuicConnectionProtocol):
    """A connection that collects the bytes of each stream. The connection closes if a stream announces or contains a
    frame that is larger than the largest frame of the link."""

    def __init__(self, frame_bytes: int, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._frame_bytes = frame_bytes
        self._partial: dict[int, bytearray] = {}

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived):
            partial = self._partial.setdefault(event.stream_id, bytearray())
            partial += event.data
            if event.end_stream:
                del self._partial[event.stream_id]
            self.collect(event.stream_id, partial, event.end_stream)
        elif isinstance(event, StreamReset):
            self._partial.pop(event.stream_id, None)

    def collect(self, stream_id: int, partial: bytearray, is_whole: bool) -> None:
        """Pass on the complete frames in `partial`, the bytes of a stream, which has ended if `is_whole` is true."""

    def accepts(self, length: int) -> bool:
        """Return whether a frame has an allowed length. Otherwise, close the connection."""
        if length > self._frame_bytes:
            reason = f"a frame of {length} bytes exceeds the limit of {self._frame_bytes}"
            self.close(QuicErrorCode.APPLICATION_ERROR, reason)
        return length <= self._frame_bytes

    def write(self, stream_id: int, data: bytes, is_last: bool = False) -> None:
        """Send bytes on a stream. aioquic copies the bytes."""
        self._quic.send_stream_data(stream_id, data, end_stream=is_last)
        self.transmit()


class ReceivingConnection(Connection):
    """A subscriber's connection, which passes the frames of a publisher's stream or datagrams to a callback."""

    def __init__(self, frame_bytes: int, on_frame: Callable[[bytes], object], *given: Any, **more: Any) -> None:
        super().__init__(frame_bytes, *given, **more)
        self._on_frame = on_frame

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, DatagramFrameReceived):
            self._on_frame(event.data)
        else:
            super().quic_event_received(event)

    def collect(self, stream_id: int, partial: bytearray, is_whole: bool) -> None:
        while len(partial) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(partial)
            end = LENGTH.size + length
            if not self.accepts(length):
                partial.clear()
            elif len(partial) < end:
                break
            else:
                frame = bytes(memoryview(partial)[LENGTH.size : end])
                del partial[:end]
                self._on_frame(frame)


class SendingConnection(Connection):
    """A publisher's connection to one receiver."""

    def __init__(self, receivers: list[SendingConnection], *given: Any, **more: Any) -> None:
        super().__init__(0, *given, **more)
        self._receivers, self._written = receivers, 0
        self._stream_id, self._stream = 0, QuicStreamSender(stream_id=None, writable=True)

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self._stream_id = self._quic.get_next_available_stream_id(is_unidirectional=True)
            self.write(self._stream_id, b"")  # opens the stream
            self._stream = self._quic._streams[self._stream_id].sender
            self._receivers.append(self)
        elif isinstance(event, (ConnectionTerminated, StopSendingReceived)) and self in self._receivers:
            self._receivers.remove(self)

    def send_on_stream(self, data: bytes) -> None:
        self._written += len(data)
        self.write(self._stream_id, data)

    def send_datagram(self, frame: bytes) -> None:
        self._quic.send_datagram_frame(frame)
        self.transmit()

    @property
    def unsent_bytes(self) -> int:
        """The number of bytes that aioquic stores until the congestion window and the receiver's window have room.

        Each waiting datagram counts as a datagram of the largest size. aioquic stores any number of bytes, and has no
        public function that reports how many it stores.
        """
        datagrams = len(self._quic._datagrams_pending) * LARGEST_DATAGRAM
        return datagrams + self._written - self._stream.highest_offset


class CallingConnection(Connection):
    """A connection of a client or a server, on which each stream carries one call."""

    def __init__(
        self,
        frame_bytes: int,
        on_message: Callable[[CallingConnection, int, bytes], object],
        *given: Any,
        **more: Any,
    ) -> None:
        super().__init__(frame_bytes, *given, **more)
        self._on_message = on_message

    def collect(self, stream_id: int, partial: bytearray, is_whole: bool) -> None:
        if self.accepts(len(partial)) and is_whole:
            self._on_message(self, stream_id, bytes(partial))

    def call(self, request: bytes) -> None:
        self.write(self._quic.get_next_available_stream_id(), request, is_last=True)

    def respond(self, stream_id: int, reply: bytes) -> None:
        """Send a reply. If the client has disconnected, the reply is lost."""
        with contextlib.suppress(ValueError, RuntimeError):
            self.write(stream_id, reply, is_last=True)

    def reset(self, stream_id: int) -> None:
        """End a stream without a reply."""
        self._quic.reset_stream(stream_id, QuicErrorCode.NO_ERROR)
        self.transmit()
