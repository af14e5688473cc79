"""A connection: a socket with the Thrift transport and protocol that the settings select."""

from __future__ import annotations

import socket
from pathlib import Path

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.protocol.TProtocol import DEFAULT_STRING_LENGTH_LIMIT, TProtocolBase
from thrift.transport.TSocket import TServerSocket, TSocket
from thrift.transport.TTransport import (
    DEFAULT_MAX_FRAME_SIZE,
    TBufferedTransport,
    TFramedTransport,
    TTransportException,
)

from hopmeter.node.contract import Link, Setup

MESSAGE_BYTES = 4096
"""The maximum size of the call name and field tags that a message adds to its frame, with a margin."""


class Stack:
    """The settings of every connection, including Thrift's size limits, which are raised for larger frames."""

    def __init__(self, setup: Setup) -> None:
        self._settings = setup.settings
        self._directory, self._bind, self.advertised = setup.directory, setup.bind, setup.advertised
        self._largest = setup.largest_frame_bytes + MESSAGE_BYTES
        self.unix = setup.settings["endpoint"] == "unix"

    def transport(self, under: TSocket) -> TBufferedTransport | TFramedTransport:
        if self._settings["transport"] == "framed":
            return TFramedTransport(under, max(self._largest, DEFAULT_MAX_FRAME_SIZE))
        return TBufferedTransport(under, self._settings["buffer"] or TBufferedTransport.DEFAULT_BUFFER)

    def protocol(self, transport: TBufferedTransport | TFramedTransport) -> TProtocolBase:
        kinds = {"binary": TBinaryProtocolAccelerated, "compact": TCompactProtocolAccelerated}
        limit = max(self._largest, DEFAULT_STRING_LENGTH_LIMIT)
        return kinds[self._settings["protocol"]](transport, string_length_limit=limit)

    def listener(self, link: Link) -> TServerSocket:
        if self.unix:
            bound = TServerSocket(unix_socket=str(Path(self._directory, f"{link.name}.thrift")))
        else:
            bound = TServerSocket(self._bind, 0)
        bound.listen()
        if not self.unix:
            bound.handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted connections inherit this
        return bound

    def connect(self, link: Link) -> Channel:
        if self.unix:
            connection = TSocket(unix_socket=link.address)
        else:
            peer, port = link.address.rsplit(":", 1)
            connection = TSocket(peer, int(port))
        connection.open()
        if not self.unix:
            connection.handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Channel(self, connection)


class Channel:
    def __init__(self, stack: Stack, connection: TSocket) -> None:
        self.handle: socket.socket = connection.handle
        self._transport = stack.transport(connection)
        self.protocol = stack.protocol(self._transport)

    def has_buffered(self) -> bool:
        """Whether bytes of the next message have already been read together with the previous message."""
        ahead = self._transport.cstringio_buf
        return bool(ahead.tell() < len(ahead.getvalue()))

    def close(self) -> None:
        self.handle.close()


def is_departure(error: TTransportException) -> bool:
    """Whether the error means that the peer has disconnected, which does not count as a failure."""
    return error.type == TTransportException.END_OF_FILE or isinstance(error.inner, ConnectionError)
