"""Brokers refuse clients without the password, and no other user can read the password."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from hopmeter.manifest.discovery import find_transports
from hopmeter.manifest.tables.broker import without_secret
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess

CONNECT = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01a"
"""The CONNECT packet of an MQTT 3.1.1 client with the name `a` and no password."""
QUESTIONS = {"mqtt": CONNECT, "nats": b"CONNECT {}\r\nPING\r\n", "redis": b"FLUSHALL\r\n"}
REFUSALS = {"mqtt": b"\x20\x02\x00\x05", "nats": b"Authorization Violation", "redis": b"-NOAUTH"}
ADMISSIONS = {"mqtt": b"\x20\x02\x00\x00", "nats": b"PONG", "redis": b"+OK"}


@contextmanager
def start_broker(transport: str, folder: Path, *, anonymous: bool = False) -> Iterator[BrokerProcess]:
    manifest = find_transports([transport])[transport]
    assert manifest.broker is not None
    assert manifest.broker.program is not None, f"hopmeter build {transport} --system-packages"
    settings = manifest.resolve_settings({})
    context = BrokerContext("ab", folder / "broker", settings, folder / "log", anonymous=anonymous)
    with BrokerProcess(manifest.broker, context) as broker:
        yield broker


def ask_as_stranger(transport: str, address: str) -> bytes:
    """Return the broker's answer to an unauthenticated client, until the broker disconnects or has sent enough."""
    host, port = address.partition(" ")[0].rpartition("@")[2].split(":")
    heard = b""
    with socket.create_connection((host, int(port)), timeout=10) as stranger:
        stranger.sendall(QUESTIONS[transport])
        while not any(answers[transport] in heard for answers in (REFUSALS, ADMISSIONS)):
            more = stranger.recv(4096)
            assert more, heard
            heard += more
    return heard


@pytest.mark.parametrize("transport", QUESTIONS)
def test_a_stranger_is_refused_and_finds_no_password(transport: str, tmp_path: Path) -> None:
    with start_broker(transport, tmp_path) as broker:
        assert REFUSALS[transport] in ask_as_stranger(transport, broker.address)
        secret = broker.address.partition("@")[0].partition(":")[2]
        assert len(secret) == 32
        assert secret not in " ".join(psutil.Process(broker.pid).cmdline())
        files = [file for file in (tmp_path / "broker").iterdir() if file.is_file()]
        assert {file.stat().st_mode & 0o077 for file in files} == {0}


def test_each_broker_has_its_own_password(tmp_path: Path) -> None:
    with start_broker("redis", tmp_path / "a") as one, start_broker("redis", tmp_path / "b") as other:
        assert one.address.partition("@")[0] != other.address.partition("@")[0]


@pytest.mark.parametrize("transport", QUESTIONS)
def test_programs_of_others_need_none_where_they_are_meant_to_come(transport: str, tmp_path: Path) -> None:
    with start_broker(transport, tmp_path, anonymous=True) as broker:
        assert "@" not in broker.address
        assert ADMISSIONS[transport] in ask_as_stranger(transport, broker.address)


def test_what_needs_the_password_is_left_out() -> None:
    assert without_secret("a:{secret}@{host}:{port} x") == "{host}:{port} x"
    assert without_secret("one\npassword {secret}\nhash:{secret_hash}\ntwo\n") == "one\ntwo\n"
