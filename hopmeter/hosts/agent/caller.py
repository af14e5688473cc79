"""A connection to a listening agent. The agent admits a peer only after the peer has proved that it is a coordinator of
this user.

To authenticate a coordinator, the agent sends a nonce; the coordinator answers with a nonce and a proof, and the agent
returns a proof.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.agent_address import peer_user
from hopmeter.hosts.protocol.line_channel import ChannelError, LineChannel
from hopmeter.hosts.protocol.shared_secret import NONCE, PROOF, Handshake, LineCodes, make_nonce
from hopmeter.hosts.protocol.socket_channel import WANTS

ADMISSION_S = 5.0
"""The timeout for a peer's proof."""
LONGEST_PROOF = 1024


@dataclass(frozen=True)
class Guard:
    """What a peer must prove to the agent: that it knows the secret, that it has a certificate, or both."""

    secret: bytes | None = None
    tls: ssl.SSLContext | None = None

    def admits_anyone(self) -> bool:
        """Return whether the agent requires neither a secret nor a certificate. An agent without a secret or
        certificate admits only peers that run as the same user on this machine."""
        return self.secret is None and self.tls is None


class RefusedCallerError(Exception):
    """The peer did not prove that it is a coordinator of this user."""

    def __init__(self, what: str, code: str = "E-HOST-PEER") -> None:
        super().__init__(what)
        self.code = code


class Caller:
    """A connection to a peer that the agent has not admitted yet. `advance` never blocks."""

    def __init__(self, connection: socket.socket, name: str, guard: Guard) -> None:
        """Take ownership of the connection to the peer `name`. Raises OSError if the connection is already closed."""
        connection.setblocking(False)
        if guard.tls is not None:
            connection = guard.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        self.connection, self.name, self._guard = connection, name, guard
        self.deadline = time.monotonic() + ADMISSION_S
        self.codes: LineCodes | None = None
        """The codes that authenticate all lines after the handshake, or None if there is no secret."""
        self._proof = ""
        self._steps = self._admit()

    def advance(self) -> bool:
        """Continue the handshake with the peer without blocking, and return whether the agent has admitted the peer.
        Raises RefusedCallerError if the peer's proof is wrong, or if the proof does not arrive in time."""
        try:
            return next(self._steps, True)
        except ssl.SSLError as cause:
            raise RefusedCallerError(f"its TLS certificate does not match --cert and --ca: {cause.strerror}") from cause
        except OSError as cause:
            raise RefusedCallerError(f"it left: {cause.strerror}") from cause

    def _admit(self) -> Generator[bool, None, None]:
        """Run the handshake. Yields False whenever the handshake needs more data from the peer."""
        if isinstance(self.connection, ssl.SSLSocket):
            yield from self._shake_hands(self.connection)
        nonce = make_nonce()
        self._send({"say": "agent", "nonce": nonce, "secret": self._guard.secret is not None})
        line = yield from self._read_line()
        self._check(line, nonce)

    @staticmethod
    def _shake_hands(connection: ssl.SSLSocket) -> Generator[bool, None, None]:
        while True:
            try:
                return connection.do_handshake()
            except WANTS:
                yield False

    def _read_line(self) -> Generator[bool, None, bytes]:
        line = b""
        while not line.endswith(b"\n"):
            try:
                piece = self.connection.recv(LONGEST_PROOF)
            except (BlockingIOError, *WANTS):
                yield False
                continue
            line += piece
            if not piece or len(line) > LONGEST_PROOF:
                raise RefusedCallerError("it left" if not piece else "it sent more than a proof")
        return line

    def _check(self, line: bytes, nonce: str) -> None:
        try:
            message = LineChannel.parse(line)
            theirs = value_checks.matching(message, "nonce", NONCE)
            proof = value_checks.matching(message, "proof", PROOF) if self._guard.secret else ""
        except (ChannelError, ValueError) as cause:
            raise RefusedCallerError(f"it is no coordinator: {cause}") from cause
        if self._guard.secret is not None:
            handshake = Handshake(self._guard.secret, nonce, theirs)
            if not handshake.is_proof("coordinator", proof):
                raise RefusedCallerError("its secret differs from the secret in --secret-file", "E-HOST-SECRET")
            self.codes, self._proof = handshake.codes("agent"), handshake.proof("agent")
        elif self._guard.admits_anyone() and peer_user(self.connection) != os.getuid():
            raise RefusedCallerError("it runs as another user of this machine; use --secret-file", "E-HOST-SECRET")

    def welcome(self) -> None:
        """Tell the peer that its session begins. Raises OSError if the peer has disconnected."""
        self._send({"say": "welcome", "proof": self._proof})

    def refuse(self, code: str, what: str) -> None:
        """Tell the peer why the agent rejects it. Raises OSError if the peer has disconnected."""
        self._send({"say": "refused", "code": code, "what": what})

    def _send(self, message: dict[str, Any]) -> None:
        # The message fits into the empty send buffer of a new connection, so this call blocks only if the peer has
        # disconnected.
        self.connection.sendall(json.dumps(message).encode() + b"\n")
