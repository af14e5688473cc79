"""The secret that coordinator and agent share. Both sides prove that they know the secret, and every line that they
send carries a code derived from the secret.

The secret itself is never sent. The code of a line is an HMAC-SHA256 over the line's direction, number and text. The
lines are not encrypted.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hopmeter.errors import UsageError
from hopmeter.hosts.protocol.line_channel import ChannelError
from hopmeter.system.input_files import open_regular

NONCE = re.compile(r"[0-9a-f]{64}")
PROOF = re.compile(r"[0-9a-f]{64}")
CODE_BYTES = 64
LEAST_CHARACTERS, MOST_BYTES = 32, 1024
Role = Literal["agent", "coordinator"]


def make_nonce() -> str:
    """Return a random single-use number as 64 hexadecimal digits."""
    return secrets.token_hex(32)


def make_secret(path: Path) -> str:
    """Write a new secret to a new file that only the user can read, and return the secret. Raises UsageError if the
    file cannot be created."""
    secret = secrets.token_urlsafe(32)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secret + "\n")
    except OSError as cause:
        what = f"the secret cannot be written to {path}: {cause.strerror}"
        raise UsageError("E-HOST-SECRET", what, "name another file") from cause
    return secret


def read_secret(path: Path, named: str) -> bytes:
    """Return the secret in a file. `named` is the command-line option or configuration key that gives the file's path.
    Raises UsageError if the file does not contain a valid secret."""
    try:
        with open_regular(path) as file:
            about = os.fstat(file.fileno())
            text = file.read(MOST_BYTES + 1).strip()
    except OSError as cause:
        what = f"{named}: {path} cannot be read: {cause.strerror}"
        raise UsageError("E-HOST-SECRET", what, "copy the file that `hopmeter agent --secret-file` created") from cause
    if about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise UsageError("E-HOST-SECRET", f"{named}: others can use {path}", f"chmod 600 {path}")
    if not LEAST_CHARACTERS <= len(text) <= MOST_BYTES:
        what = f"{named}: {path} has {len(text)} characters, and a secret has {LEAST_CHARACTERS} to {MOST_BYTES}"
        raise UsageError("E-HOST-SECRET", what, "let `hopmeter agent --secret-file` create the file")
    return text


@dataclass(frozen=True)
class Handshake:
    """What both sides know during the handshake: the secret and the two nonces."""

    secret: bytes
    agent_nonce: str
    coordinator_nonce: str

    def proof(self, role: Role) -> str:
        """Return the proof that the peer in the given role must send. Only a peer that knows the secret can compute the
        proof."""
        return self._derive("proof", role).hex()

    def is_proof(self, role: Role, proof: str) -> bool:
        """Return whether `proof` shows that the peer with the given role knows the secret."""
        return PROOF.fullmatch(proof) is not None and hmac.compare_digest(self.proof(role), proof)

    def codes(self, role: Role) -> LineCodes:
        """Return the object that computes and checks the codes of the lines that the peer in the given role sends and
        receives."""
        other: Role = "coordinator" if role == "agent" else "agent"
        return LineCodes(self._derive("lines", role), self._derive("lines", other))

    def _derive(self, purpose: str, role: Role) -> bytes:
        text = f"hopmeter {purpose} {role} {self.agent_nonce} {self.coordinator_nonce}"
        return hmac.digest(self.secret, text.encode(), "sha256")


class LineCodes:
    """Computes and checks the authentication codes that precede the lines of a connection. If a line is changed,
    omitted, repeated or sent back to its sender, its code is wrong."""

    def __init__(self, own_key: bytes, their_key: bytes) -> None:
        self._own_key, self._their_key = own_key, their_key
        self._sent = self._got = 0

    def sign(self, line: bytes) -> bytes:
        """Return the next line to send, with its authentication code in front."""
        self._sent += 1
        return _code(self._own_key, self._sent, line) + line

    def check(self, line: bytes) -> bytes:
        """Check the authentication code of the next received line, and return the line without the code. Raises
        ChannelError if the authentication code is wrong."""
        self._got += 1
        code, text = line[:CODE_BYTES], line[CODE_BYTES:]
        if not hmac.compare_digest(code, _code(self._their_key, self._got, text)):
            raise ChannelError("a line was altered in transit, or was not sent by the other side")
        return text


def _code(key: bytes, number: int, line: bytes) -> bytes:
    return hmac.digest(key, number.to_bytes(8, "big") + line, "sha256").hex().encode()
