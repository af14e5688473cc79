"""Where two commands on two machines find each other: a TCP socket at an address that both know.

Whoever reaches that port may take part, and nothing is encrypted: it is for networks that one trusts.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from dataclasses import dataclass

from hopmeter.byhand.door import ListeningDoor
from hopmeter.byhand.wire import GoneError, Wire, wait
from hopmeter.client.errors import ConnectError
from hopmeter.errors import UsageError
from hopmeter.runtime.signals import Alarm

LOOK_S = 0.2
CONNECT_S = 2.0
KNOCK_S = 2.0
"""For whoever has come to say for what."""
KEPT_ALIVE = {socket.TCP_KEEPIDLE: 10, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 4, socket.TCP_USER_TIMEOUT: 30_000}
"""A machine that is gone without a word is noticed within half a minute."""
ANYWHERE = "0.0.0.0"


@dataclass(frozen=True)
class Endpoint:
    """Where a door is: an IPv4 address and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def endpoint(text: str) -> Endpoint:
    """`HOST:PORT` as typed; UsageError for what is none or has no IPv4 address."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UsageError(
            "E-MEET-ADDRESS", f"--meet {text} is no HOST:PORT", "write --meet 192.168.1.5:7777, the same at both ends"
        )
    return Endpoint(resolved(host), int(port))


def resolved(host: str) -> str:
    """The IPv4 address of a machine; UsageError where there is none."""
    try:
        return socket.gethostbyname(host)
    except OSError as unknown:
        raise UsageError(
            "E-HOST-ADDRESS", f"{host} is no machine that is known here", "give its IPv4 address"
        ) from unknown


def own(host: str) -> str:
    """An address of this machine; UsageError for any other one."""
    address = resolved(host)
    try:
        with socket.socket() as probe:
            probe.bind((address, 0))
    except OSError as foreign:
        raise UsageError(
            "E-HOST-ADDRESS", f"{host} is no address of this machine", "`ip address` lists those"
        ) from foreign
    if address == ANYWHERE:
        raise UsageError(
            "E-HOST-NEEDED",
            "ends need one address of this machine",
            "add --host ADDRESS, by which the other reaches it",
        )
    return address


class Door(ListeningDoor):
    """The end that others come to."""

    def __init__(self, at: Endpoint, kind: str, name: str) -> None:
        self._knock = {"say": "knock", "kind": kind, "name": name}
        try:
            self._socket = socket.create_server((at.host, at.port), backlog=8)
        except OSError as refused:
            remedy = "name an address of this machine and a port that is free: --meet HOST:PORT"
            raise ConnectError("E-PORT-UNUSABLE", f"nobody can come to {at}: {refused.strerror}", remedy) from refused
        self._socket.setblocking(False)

    def _introduced(self, guest: socket.socket) -> Wire | None:
        """Who came, if it is for this; others are told and sent away."""
        wire = Wire(_lasting(guest))
        with suppress(GoneError):
            if wire.expect("knock", within_s=KNOCK_S) == self._knock:
                return wire
            wire.say(say="refused", here={name: self._knock[name] for name in ("kind", "name")})
        wire.close()
        return None


def entered(at: Endpoint, kind: str, name: str, within_s: float, alarm: Alarm) -> Wire:
    """A wire to the door there, as soon as it is open; ConnectError if it is not in time."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            wire = _connected(at)
        except OSError as refused:
            if time.monotonic() >= deadline:
                what = f"nobody is there at {at}: waited {within_s:g} s ({refused.strerror or refused})"
                raise ConnectError("E-PEER-MISSING", what, _remedy(at, kind, name)) from refused
        else:
            wire.say(say="knock", kind=kind, name=name)
            return wire
        wait([], min(LOOK_S, max(0.0, deadline - time.monotonic())), alarm)


def _remedy(at: Endpoint, kind: str, name: str) -> str:
    other = f"hopmeter publish --meet {at}" if kind == "pair" else f"hopmeter serve {name} --meet {at}"
    return f"start the other end, on the machine with that address: `{other}`"


def _connected(at: Endpoint) -> Wire:
    made = socket.create_connection((at.host, at.port), timeout=CONNECT_S)
    if made.getsockname() == made.getpeername():  # a port of one's own, taken for the asking
        made.close()
        raise ConnectionRefusedError("Connection refused")
    return Wire(_lasting(made))


def _lasting(connection: socket.socket) -> socket.socket:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEPT_ALIVE.items():
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    return connection
