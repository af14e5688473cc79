"""The secret key with which the two sides of a multiprocessing connection prove to each other who they are (`authkey`).

The binding end writes a random key into a file next to its socket. Only the user who runs the trial can read the file.
"""

from __future__ import annotations

import os
import secrets
import socket
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

from .ends import set_connection_patience

__all__ = ["AuthenticationError", "check", "connect", "create", "remove"]
KEY_BYTES = 32
GREETING_S = 5.0


def _file(address: str) -> Path:
    return Path(f"{address}.key")


def create(address: str) -> bytes:
    """Create the key of a binding end, and return it."""
    key = secrets.token_bytes(KEY_BYTES)
    with os.fdopen(os.open(_file(address), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
    return key


def remove(address: str) -> None:
    """Remove the file with the key of a binding end, if there is one."""
    _file(address).unlink(missing_ok=True)


def connect(address: str, keyed: bool) -> Connection[Any, Any]:
    """Connect to a binding end, which has a key if `keyed` is true."""
    return Client(address, "AF_UNIX", authkey=_file(address).read_bytes() if keyed else None)


def check(connection: Connection[Any, Any], key: bytes | None) -> None:
    """Let both sides of an accepted connection prove that they know the key.

    `Listener(authkey=key)` also exchanges these proofs, but waits forever if a peer sends nothing. Raises
    AuthenticationError if the peer has another key, and BlockingIOError if the peer does not answer in time.
    """
    if key is None:
        return
    set_connection_patience(connection, socket.SO_RCVTIMEO, GREETING_S)
    try:
        deliver_challenge(connection, key)
        answer_challenge(connection, key)
    except BaseException:
        connection.close()
        raise
