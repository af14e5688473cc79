"""The adapter for UDP in Python: one datagram is one frame. ../README.md describes the wire format."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from ipaddress import ip_address

from hopmeter.node.base import BaseTransport, opens
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Handle, Link, Setup, Take, network_device
from hopmeter.node.sockets import set_patience

from ..._streams.python.sending import set_buffer

LARGEST = 65_507
"""The largest content of a UDP datagram over IPv4."""
LOOK_S = 0.01
"""How often a publisher checks for additional receivers after the expected ones have joined."""
REPEAT_S = 0.05
"""How often a receiver resends its token until a frame arrives."""
SO_MEMINFO, MEMINFO = 55, struct.Struct("@9I")
"""The socket option and its format: nine values, of which the last is the number of dropped datagrams."""

Place = tuple[str, int]


def parse(address: str) -> tuple[Place, bytes]:
    """Parse an address, and return the host and port of a publisher or server, and the token for receivers. An address
    of a multicast group has no token."""
    place, _, token = address.partition("/")
    host, port = place.rsplit(":", 1)
    return (host, int(port)), token.encode()


def send_datagram(made: socket.socket, frame: memoryview | bytes, place: Place | None = None) -> bool:
    """Send one datagram without waiting, to the address `place` or to the peer of a connected socket. Return False
    (busy) if the socket's buffer is full.

    If the peer cannot be reached, the datagram is lost, which is not an error. After a datagram to an unreachable peer,
    Linux reports an error instead of sending the next datagram, so this function sends the next datagram again.
    """
    while True:
        try:
            if place is None:
                made.send(frame, socket.MSG_DONTWAIT)
            else:
                made.sendto(frame, socket.MSG_DONTWAIT, place)
        except BlockingIOError:
            return False
        except ConnectionRefusedError:
            continue
        return True


class Draft:
    """The buffer in which frames are written before they are sent."""

    def __init__(self, link: Link) -> None:
        self._buffer = memoryview(bytearray(min(link.frame_bytes, LARGEST)))
        self._frame = self._buffer

    def write(self, payload_bytes: int, fill: Fill) -> memoryview:
        length = HEADER_BYTES + payload_bytes
        if len(self._frame) != length:
            if length > len(self._buffer):
                remedy = f"a datagram has at most {LARGEST} bytes: send smaller messages, or use tcp"
                raise AdapterError(f"a frame of {length} bytes, but the limit is {len(self._buffer)}", remedy)
            self._frame = self._buffer[:length]
        fill(self._frame)
        return self._frame


class Inbox:
    """The receiving half of a socket."""

    def __init__(self, transport: Transport, made: socket.socket, link: Link) -> None:
        self.socket, self._transport = made, transport
        self._blocks, self._timeout_s = link.wait == "block", 0.0
        self._buffer = memoryview(bytearray(min(link.frame_bytes, LARGEST)))
        transport.inboxes.append(self)

    def flags(self, timeout_s: float) -> int:
        """Set the timeout of the next receive call, and return the flags for this call."""
        if not self._blocks or timeout_s <= 0:
            return socket.MSG_DONTWAIT | socket.MSG_TRUNC
        if timeout_s != self._timeout_s:
            set_patience(self.socket, socket.SO_RCVTIMEO, timeout_s)
            self._timeout_s = timeout_s
        return socket.MSG_TRUNC

    def receive(self, timeout_s: float) -> memoryview | None:
        """Return one datagram, or None after the timeout. If the datagram is larger than the link's largest frame, drop
        the datagram and return None."""
        try:
            length = self.socket.recv_into(self._buffer, 0, self.flags(timeout_s))
        except (BlockingIOError, ConnectionRefusedError):
            return None
        return self._buffer[:length] if length <= len(self._buffer) else None

    def receive_with_sender(self, timeout_s: float) -> tuple[memoryview | None, Place]:
        """Return one datagram and its sender."""
        try:
            length, sender = self.socket.recvfrom_into(self._buffer, 0, self.flags(timeout_s))
        except BlockingIOError:
            return None, ("", 0)
        return self._buffer[:length] if length <= len(self._buffer) else None, sender

    @property
    def drop_count(self) -> int:
        """The number of datagrams that the kernel dropped because the receive buffer was full."""
        return int(MEMINFO.unpack(self.socket.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, MEMINFO.size))[-1])

    def close(self) -> None:
        self._transport.inboxes.remove(self)
        self._transport.dropped += self.drop_count
        self.socket.close()


class Publisher:
    """Sends each frame once to each receiver, or once to a multicast group."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._socket, port = transport.bind_socket()
        self.address = transport.publisher_address(port)
        place, self._token = parse(self.address)
        self._receivers = [] if self._token else [place]
        self._expected, self._looked = link.receivers, 0.0
        self._draft = Draft(link)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self._token and len(self._receivers) < self._expected:
            self._admit()
        frame, sent = self._draft.write(payload_bytes, fill), True
        for index, receiver in enumerate(self._receivers):
            if not send_datagram(self._socket, frame, receiver) and index == 0:
                sent = False  # an additional receiver misses the frame if the socket's buffer has no room
                break
        if self._token and time.monotonic() - self._looked > LOOK_S:
            self._admit()  # after the send, so that the check delays no frame
        return sent

    def _admit(self) -> None:
        """Add the receivers that have sent the token."""
        for token, sender in self._waiting():
            if token == self._token and sender not in self._receivers:
                self._receivers.append(sender)
        self._looked = time.monotonic()

    def _waiting(self) -> Iterator[tuple[bytes, Place]]:
        with contextlib.suppress(BlockingIOError):
            while True:
                yield self._socket.recvfrom(64, socket.MSG_DONTWAIT)

    def close(self) -> None:
        self._socket.close()


class Subscriber(Inbox):
    def __init__(self, transport: Transport, link: Link) -> None:
        place, self._token = parse(link.address)
        super().__init__(transport, transport.connect_socket(place), link)
        self._join()

    def _join(self) -> None:
        self._asked = time.monotonic()
        if self._token:
            send_datagram(self.socket, self._token)

    def poll(self, timeout_s: float, take: Take) -> int:
        if self._token and time.monotonic() - self._asked > REPEAT_S:
            self._join()
        frame = self.receive(timeout_s)
        if frame is None:
            return 0
        take(frame)
        self._token = b""  # the publisher has added this receiver
        return 1


class Client(Inbox):
    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, transport.connect_socket(parse(link.address)[0]), link)
        self._draft = Draft(link)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        return send_datagram(self.socket, self._draft.write(payload_bytes, fill))

    def poll(self, timeout_s: float, take: Take) -> int:
        reply = self.receive(timeout_s)
        if reply is None:
            return 0
        take(reply)
        return 1


class Server(Inbox):
    """Replies to the sender of each request."""

    def __init__(self, transport: Transport, link: Link) -> None:
        made, port = transport.bind_socket()
        super().__init__(transport, made, link)
        self.address = f"{transport.setup.advertised}:{port}"
        self._draft = Draft(link)
        self._caller: Place = ("", 0)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        request, self._caller = self.receive_with_sender(timeout_s)
        if request is None:
            return 0
        handle(request, self._reply)
        return 1

    def _reply(self, payload_bytes: int, fill: Fill) -> bool:
        return send_datagram(self.socket, self._draft.write(payload_bytes, fill), self._caller)


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._multicast: bool = self.settings["multicast"]
        self.path = f"UDP{' multicast' if self._multicast else ''} on {network_device(setup)}"
        self.inboxes: list[Inbox] = []
        self.dropped = 0

    @staticmethod
    def version() -> str:
        kernel = os.uname()
        return f"{kernel.sysname} {kernel.release}"

    def facts(self) -> dict[str, str]:
        dropped = self.dropped + sum(inbox.drop_count for inbox in self.inboxes)
        loss = f"the kernel dropped {dropped} datagrams because a receive buffer was full"
        return {"path": self.path, **({"loss": loss} if dropped else {})}

    publisher, subscriber = opens(Publisher), opens(Subscriber)
    server, client = opens(Server), opens(Client)

    def bind_socket(self) -> tuple[socket.socket, int]:
        """Open the socket of a publisher or server, and return it with its port."""
        made = self._socket()
        if self._multicast:
            made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(self.setup.advertised))
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._bind(made, (self.setup.bind, self.settings["port"]))
        return made, made.getsockname()[1]

    def publisher_address(self, port: int) -> str:
        """Return the address of a publisher, or of its multicast group."""
        run = self.setup.run
        if not self._multicast:
            return f"{self.setup.advertised}:{port}/{run}"
        return f"239.255.{int(run[:2], 16)}.{int(run[2:4], 16)}:{port}"

    def connect_socket(self, place: Place) -> socket.socket:
        """Open the socket of a receiver or client, which accepts only datagrams from the address `place`, or to the
        multicast group `place`."""
        made = self._socket()
        if ip_address(place[0]).is_multicast:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._bind(made, place)
            membership = socket.inet_aton(place[0]) + socket.inet_aton(self.setup.advertised)
            made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        else:
            made.connect(place)
        return made

    def _socket(self) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        set_buffer(made, socket.SO_SNDBUF, self.settings["send_buffer"], "net.core.wmem_max")
        set_buffer(made, socket.SO_RCVBUF, self.settings["receive_buffer"], "net.core.rmem_max")
        return made

    @staticmethod
    def _bind(made: socket.socket, place: Place) -> None:
        try:
            made.bind(place)
        except OSError as cause:
            raise AdapterError(
                f"cannot bind port {place[1]} of {place[0]}", "use port = 0, which selects a free port"
            ) from cause
