"""The address on which an agent listens: `HOST:PORT`, or `unix:PATH` for a socket in a private directory."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.node.contract import LOOPBACK

UNIX = "unix:"
MOST_WAITING = 64
LASTING = {socket.TCP_KEEPIDLE: 4, socket.TCP_KEEPINTVL: 2, socket.TCP_KEEPCNT: 3, socket.TCP_USER_TIMEOUT: 10_000}
"""The socket options by which a peer counts as lost if its kernel does not respond for 10 s."""
ESTABLISHED = "01"


@dataclass(frozen=True)
class AgentAddress:
    """The address of an agent: a TCP port, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> AgentAddress:
        """Parse `HOST:PORT` or `unix:PATH`. Raises RefusedValueError if the text has a format other than `HOST:PORT` or
        `unix:PATH`."""
        if text.startswith(UNIX) and (path := text.removeprefix(UNIX)):
            return cls(path=str(Path(path).expanduser()))
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not host.isprintable() or not (port.isascii() and port.isdecimal() and int(port) < 1 << 16):
            what = f'"{text}" is neither HOST:PORT, such as 10.0.0.2:7777, nor {UNIX}PATH'
            raise RefusedValueError("E-VALUE-FORM", what)
        return cls(LOOPBACK if host == "localhost" else host, int(port))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{UNIX}{self.path}" if self.path else f"{host}:{self.port}"

    @property
    def ip(self) -> str | None:
        """Return the IP address, or None if the agent address contains a host name or a Unix socket."""
        with suppress(ValueError):
            return str(ipaddress.ip_address(self.host))
        return None

    @property
    def stays_here(self) -> bool:
        """Return whether the address can be reached only from this machine."""
        return bool(self.path) or (self.ip is not None and ipaddress.ip_address(self.ip).is_loopback)

    def connect(self, patience_s: float) -> socket.socket:
        """Return a socket that is connected to the address. Raises OSError if the connection fails."""
        if self.path:
            made = socket.socket(socket.AF_UNIX)
            made.settimeout(patience_s)
            try:
                made.connect(self.path)
            except OSError:
                made.close()
                raise
            return made
        made = socket.create_connection((self.host, self.port), patience_s)
        if made.getsockname() == made.getpeername():  # the kernel connected the socket to itself
            made.close()
            raise ConnectionRefusedError(0, "Connection refused")
        return make_lasting(made)

    @contextmanager
    def listen(self, option: str = "--listen") -> Iterator[socket.socket]:
        """Yield a socket that listens on the address until the `with` block ends. If listening fails, raises a
        UsageError that names the command-line option."""
        try:
            made = self._bind_path() if self.path else self._bind_port()
        except (OSError, UnicodeError) as cause:
            what = f"nothing can listen on {self}: {getattr(cause, 'strerror', None) or cause}"
            remedy = f"specify an address of this machine and a free port: {option} HOST:PORT"
            raise UsageError("E-AGENT-LISTEN", what, remedy) from cause
        try:
            with made:
                yield made
        finally:
            if self.path:
                Path(self.path).unlink(missing_ok=True)

    def _bind_port(self) -> socket.socket:
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=MOST_WAITING)

    def _bind_path(self) -> socket.socket:
        path = Path(self.path)
        folder = path.parent.stat()
        if folder.st_uid != os.getuid() or folder.st_mode & 0o077:
            raise OSError(0, f"other users can use its folder; `chmod 700 {path.parent}` makes it private")
        made = socket.socket(socket.AF_UNIX)
        try:
            self._remove_stale()
            made.bind(self.path)
            made.listen(MOST_WAITING)
        except OSError:
            made.close()
            raise
        return made

    def _remove_stale(self) -> None:
        """Remove the socket file that an agent left behind when it was killed. A socket file that another agent still
        uses is not removed, so that `bind` fails."""
        if not Path(self.path).is_socket():
            return
        try:
            self.connect(1.0).close()
        except ConnectionRefusedError:
            Path(self.path).unlink(missing_ok=True)


def make_lasting(connection: socket.socket) -> socket.socket:
    """Disable send delays on a TCP connection, and make the connection detect a peer that disappears without closing
    it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in LASTING.items():
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    return connection


def peer_user(connection: socket.socket) -> int | None:
    """Return the id of the user whose process is at the other end of a local connection, or None if the id is
    unknown."""
    if connection.family == socket.AF_UNIX:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    table = Path("/proc/net/tcp6" if connection.family == socket.AF_INET6 else "/proc/net/tcp")
    ends = [_as_in_table(connection.family, each) for each in (connection.getpeername(), connection.getsockname())]
    for line in table.read_text().splitlines()[1:]:
        fields = line.split()
        # The kernel reports user 0 and inode 0 for a socket that its process has closed.
        if fields[1:4] == [*ends, ESTABLISHED] and fields[9] != "0":
            return int(fields[7])
    return None


def _as_in_table(family: int, address: Any) -> str:
    """Return an address in the format of /proc/net/tcp: 32-bit words in native byte order, and the port."""
    packed = socket.inet_pton(family, address[0])
    words = [int.from_bytes(packed[start : start + 4], sys.byteorder) for start in range(0, len(packed), 4)]
    return f"{''.join(f'{word:08X}' for word in words)}:{address[1]:04X}"
