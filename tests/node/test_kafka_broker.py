"""Kafka as hopmeter starts it: it refuses clients without its password, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hopmeter.manifest.discovery import find_transports
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
FAILED = 58
"""Kafka's error code SASL_AUTHENTICATION_FAILED."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kafka")


@pytest.fixture(scope="module")
def broker(folder: Path) -> Iterator[BrokerProcess]:
    manifest = find_transports(["kafka"])["kafka"]
    assert manifest.broker is not None
    assert manifest.broker.missing == "", "hopmeter build kafka --system-packages"
    context = BrokerContext("ab", folder / "broker", manifest.resolve_settings({}), folder / "log")
    with BrokerProcess(manifest.broker, context) as serving:
        yield serving


def ask(client: socket.socket, key: int, body: bytes) -> bytes:
    """Send a request in version 1, and return the answer without its correlation id."""
    request = struct.pack(">hhih", key, 1, 1, -1) + body
    client.sendall(struct.pack(">i", len(request)) + request)
    length = struct.unpack(">i", receive(client, 4))[0]
    return receive(client, length)[4:]


def receive(client: socket.socket, length: int) -> bytes:
    heard = b""
    while len(heard) < length:
        more = client.recv(length - len(heard))
        assert more, heard
        heard += more
    return heard


def log_in(port: int, user: bytes, password: bytes) -> int:
    """Return the error code that the broker answers a client with this user and password."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        assert ask(client, SASL_HANDSHAKE, struct.pack(">h", 5) + b"PLAIN")[:2] == b"\0\0"
        token = b"\0" + user + b"\0" + password
        return int(struct.unpack(">h", ask(client, SASL_AUTHENTICATE, struct.pack(">i", len(token)) + token)[:2])[0])


def ports(broker: BrokerProcess) -> set[int]:
    return {each.laddr.port for each in psutil.Process(broker.pid).net_connections() if each.status == "LISTEN"}


def test_a_stranger_is_refused_at_each_port_and_finds_no_password(broker: BrokerProcess, folder: Path) -> None:
    user, _, secret = broker.address.partition("@")[0].partition(":")
    assert {log_in(port, user.encode(), b"wrong") for port in ports(broker)} == {FAILED}
    assert log_in(int(broker.address.rpartition(":")[2]), user.encode(), secret.encode()) == 0
    assert secret not in " ".join(psutil.Process(broker.pid).cmdline())
    named = [file for file in folder.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    assert [(file.name, file.stat().st_mode & 0o077) for file in named] == [("server.properties", 0)]


def test_a_killed_broker_leaves_no_process(broker: BrokerProcess) -> None:
    family = psutil.Process(broker.pid).children(recursive=True)
    os.kill(broker.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []
