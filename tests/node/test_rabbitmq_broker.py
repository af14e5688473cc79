"""The RabbitMQ broker that hopmeter starts refuses clients without the broker's password, and leaves no process
behind."""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Iterator

import psutil
import pytest

from hopmeter.manifest.discovery import find_transports
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess

HEADER = b"AMQP\x00\x00\x09\x01"
ACCESS_REFUSED = struct.pack(">H", 403)
CONNECTION_CLOSE, CONNECTION_TUNE = struct.pack(">HH", 10, 50), struct.pack(">HH", 10, 30)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    manifest = find_transports(["rabbitmq"])["rabbitmq"]
    assert manifest.broker is not None
    assert manifest.broker.program is not None, "hopmeter build rabbitmq --system-packages"
    folder = tmp_path_factory.mktemp("rabbitmq")
    settings = manifest.resolve_settings({})
    with BrokerProcess(manifest.broker, BrokerContext("ab", folder / "broker", settings, folder / "log")) as serving:
        yield serving


def short(text: bytes) -> bytes:
    return struct.pack(">B", len(text)) + text


def long(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


def log_in(address: str, user: bytes, password: bytes) -> bytes:
    """Return what the broker answers a client with this user and password."""
    can = long(short(b"authentication_failure_close") + b"t\x01")
    start_ok = struct.pack(">HH", 10, 11) + long(short(b"capabilities") + b"F" + can)
    start_ok += short(b"PLAIN") + long(b"\0" + user + b"\0" + password) + short(b"en_US")
    host, port = address.rpartition("@")[2].split(":")
    heard = b""
    with socket.create_connection((host, int(port)), timeout=30) as client:
        client.sendall(HEADER + struct.pack(">BHI", 1, 0, len(start_ok)) + start_ok + b"\xce")
        while CONNECTION_CLOSE not in heard and CONNECTION_TUNE not in heard:
            more = client.recv(4096)
            assert more, heard
            heard += more
    return heard


def test_a_stranger_is_refused_and_finds_no_password(broker: BrokerProcess) -> None:
    user, _, secret = broker.address.partition("@")[0].partition(":")
    assert CONNECTION_CLOSE + ACCESS_REFUSED in log_in(broker.address, b"guest", b"guest")
    assert CONNECTION_TUNE in log_in(broker.address, user.encode(), secret.encode())
    assert secret not in " ".join(psutil.Process(broker.pid).cmdline())


def test_it_listens_only_for_its_clients(broker: BrokerProcess) -> None:
    listening = {each.laddr.port for each in psutil.Process(broker.pid).net_connections() if each.status == "LISTEN"}
    assert listening == {int(broker.address.rpartition(":")[2])}


def test_a_killed_broker_leaves_no_process(broker: BrokerProcess) -> None:
    family = psutil.Process(broker.pid).children(recursive=True)
    assert family
    os.kill(broker.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []
