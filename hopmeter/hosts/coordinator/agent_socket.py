"""The coordinator's connection to a listening agent."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

from hopmeter.hosts.coordinator.hosts_file import HostEntry
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.agent_address import AgentAddress, peer_user
from hopmeter.hosts.protocol.agent_process import ENDING_S
from hopmeter.hosts.protocol.greeting import HostError
from hopmeter.hosts.protocol.line_channel import ChannelError, LineChannel
from hopmeter.hosts.protocol.shared_secret import NONCE, Handshake, LineCodes, make_nonce, read_secret
from hopmeter.hosts.protocol.socket_channel import SocketChannel
from hopmeter.node.contract import LOOPBACK

CONNECTING_S = 10.0
LONGEST_WORD = 1024
CODE = re.compile(r"E-[A-Z0-9-]{1,40}")
REMEDIES = {
    "E-HOST-SECRET": "specify the file that `hopmeter agent --secret-file` created there: secret_file = FILE",
    "E-HOST-BUSY": "wait until the other run has ended",
}


class NothingListensError(HostError):
    """No agent is listening yet at the address that the user gave."""


class AgentSocket:
    """A connection to an agent that has authenticated itself."""

    def __init__(self, name: str, entry: HostEntry) -> None:
        """Connect to the agent of a host. Raises HostError if the agent is unusable, and UsageError if the secret or a
        TLS file is unusable."""
        self._name, self._address = name, AgentAddress.parse(entry.listens or "")
        self._secret = read_secret(entry.secret_file, f"secret_file of {name}") if entry.secret_file else None
        self._tls = entry.tls.context(is_agent=False, named=f"cert, key and ca of {name}") if entry.tls else None
        self._deadline = time.monotonic() + CONNECTING_S
        self._connection = self._connect()
        try:
            self.channel = SocketChannel(self._connection, self._prove())
        except BaseException:
            self._connection.close()
            raise

    def _connect(self) -> socket.socket:
        try:
            made = self._address.connect(CONNECTING_S)
        except (OSError, UnicodeError) as cause:
            why = getattr(cause, "strerror", None) or str(cause)
            raise self._unreachable(f"nothing answers: {why}", NothingListensError) from cause
        if self._tls is None:
            return made
        try:
            return self._tls.wrap_socket(made, server_hostname=self._address.host)
        except OSError as cause:
            made.close()
            raise self._no_tls(cause) from cause

    def _no_tls(self, cause: OSError) -> HostError:
        if not isinstance(cause, ssl.SSLError):
            return self._unreachable(f"the connection was closed during the TLS handshake: {cause.strerror or cause}")
        what = f"the host {self._name} is refused at {self._address}: {cause.strerror or cause}"
        remedy = "check cert, key and ca of the host, and --cert, --key and --ca of its agent"
        return HostError("E-HOST-TLS", what, remedy)

    def _prove(self) -> LineCodes | None:
        """Prove to the agent that the coordinator knows the secret, and check the agent's proof. Return the codes that
        authenticate all further lines, or None if the host has no secret."""
        try:
            challenge, own = self._read("agent"), make_nonce()
            self._check_user()
            handshake = self._handshake(challenge, own)
            self._send({"say": "prove", "nonce": own, "proof": handshake.proof("coordinator") if handshake else ""})
            answer = self._read("welcome")
            if handshake is None:
                return None
            if not handshake.is_proof("agent", value_checks.text(answer, "proof", LONGEST_WORD)):
                raise self._error("E-HOST-SECRET", "it does not know your secret")
            return handshake.codes("coordinator")
        except ssl.SSLError as cause:
            raise self._no_tls(cause) from cause
        except TimeoutError as cause:
            what = f"no agent answers in {CONNECTING_S:.0f} s; an agent with --cert requires ca, cert and key"
            raise self._unreachable(what) from cause
        except (OSError, ChannelError, ValueError) as cause:
            raise self._unreachable(f"no agent answers: {getattr(cause, 'strerror', None) or cause}") from cause

    def _handshake(self, challenge: dict[str, Any], own: str) -> Handshake | None:
        nonce, has_secret = value_checks.matching(challenge, "nonce", NONCE), challenge.get("secret") is True
        if has_secret != (self._secret is not None):
            what = "it requires a secret, but you gave none"
            raise self._error("E-HOST-SECRET", what if has_secret else "it has no secret, but you gave one")
        return Handshake(self._secret, nonce, own) if self._secret is not None else None

    def _check_user(self) -> None:
        if self._address.path and peer_user(self._connection) != os.getuid():
            raise self._unreachable("another user listens there")

    def _read(self, word: str) -> dict[str, Any]:
        """Return the next message. The handshake message is read byte by byte, because all bytes after it belong to the
        session."""
        line = b""
        while not line.endswith(b"\n"):
            self._connection.settimeout(max(0.001, self._deadline - time.monotonic()))
            if not (byte := self._connection.recv(1)) or len(line) > LONGEST_WORD:
                raise ChannelError(f"it sent {line[:60].decode(errors='replace')!r} and no greeting")
            line += byte
        message = LineChannel.parse(line)
        if message["say"] == "refused":
            code = value_checks.matching(message, "code", CODE)
            raise self._error(code, value_checks.printable(message, "what", LONGEST_WORD))
        if message["say"] != word:
            raise ChannelError(f"it sent {message['say'][:60]!r}")
        return message

    def _send(self, message: dict[str, Any]) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def _error(self, code: str, why: str) -> HostError:
        remedy = REMEDIES.get(code, "check the host's entry in the --hosts file")
        return HostError(code, f"the host {self._name} cannot be used at {self._address}: {why}", remedy)

    def _unreachable(self, why: str, kind: type[HostError] = HostError) -> HostError:
        remedy = f"start `hopmeter agent --listen` on that host, and check listens of {self._name}"
        return kind("E-HOST-UNREACHABLE", f"the host {self._name} cannot be used at {self._address}: {why}", remedy)

    @property
    def own_address(self) -> str:
        """Return this machine's own address on the connection to the agent."""
        return LOOPBACK if self._address.path else str(self._connection.getsockname()[0])

    def why_gone(self) -> str:
        """Return the reason why the connection to the agent was lost, or an empty string if the reason is unknown."""
        why = self.channel.why_closed
        return f"the connection was cut: {why}" if why else ""

    def hang_up(self) -> None:
        """Close the channel for writing, so that the agent stops all processes that it has started."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the channel, and wait until the agent has exited."""
        self.hang_up()
        with suppress(OSError):
            deadline = time.monotonic() + ENDING_S
            while (left_s := deadline - time.monotonic()) > 0:
                self._connection.settimeout(left_s)
                if not self._connection.recv(1 << 16):
                    break
        self._connection.close()
