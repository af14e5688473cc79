"""A Redis message arrives although its pieces come further apart than the poll timeout."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hopmeter import manifest
from hopmeter.node.loading import transport_class
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess
from hopmeter.system import paths
from tests.waiting import wait_for

pytest.importorskip("redis")

LARGE = 100_000
POLL_S, GAP_S, PATIENCE_S = 0.05, 0.3, 10.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    redis = manifest.every()["redis"]
    assert redis.broker is not None
    with BrokerProcess(
        redis.broker, BrokerContext("pieces", tmp_path / "redis", redis.resolve_settings({}), tmp_path / "log")
    ) as serving:
        yield serving.address


@pytest.fixture
def slow(broker: str, tmp_path: Path) -> Iterator[str]:
    """Start a proxy of that broker that splits large answers into two delayed pieces."""
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(tmp_path / "slow.sock"))
        listening.listen()
        passing = threading.Thread(target=passed_on, args=(listening, broker.split(" ")[1]))
        passing.start()
        yield f"{broker.split(' ')[0]} {tmp_path / 'slow.sock'}"
        listening.shutdown(socket.SHUT_RDWR)
        passing.join()


def passed_on(listening: socket.socket, broker: str) -> None:
    with suppress(OSError), closing(socket.socket(socket.AF_UNIX)) as server:
        client, _ = listening.accept()
        server.connect(broker)
        threading.Thread(target=pump, args=(client, server, len), daemon=True).start()
        with client:
            pump(server, client, half_of_large)


def half_of_large(data: bytes) -> int:
    return len(data) // 2 if len(data) > 1000 else len(data)


def pump(source: socket.socket, target: socket.socket, first: Callable[[bytes], int]) -> None:
    while data := source.recv(1 << 16):
        target.sendall(data[: first(data)])
        if rest := data[first(data) :]:
            time.sleep(GAP_S)
            target.sendall(rest)
    target.shutdown(socket.SHUT_WR)


def test_a_message_in_pieces_is_waited_for(broker: str, slow: str) -> None:
    (folder,) = paths.transport_folders()
    transport = transport_class(folder / "redis/python")

    def open_transport(broker: str) -> Any:
        return transport(
            SimpleNamespace(broker=broker, settings={"endpoint": "unix", "durable": False, "security": "off"})
        )

    publisher = open_transport(broker).publisher(SimpleNamespace(name="pieces", wait="block"))
    subscriber = open_transport(slow).subscriber(SimpleNamespace(name="pieces", wait="block"))
    came: list[bytes] = []

    def take(frame: bytes, native: bytes) -> None:
        came.append(frame)

    wait_for(lambda: subscriber.poll(POLL_S, take) == 0 and publisher._client.pubsub_numsub("pieces")[0][1] == 1)
    sent = bytes(range(256)) * (LARGE // 256)
    publisher.forward(sent)
    wait_for(lambda: subscriber.poll(POLL_S, take) == 1)
    assert came == [sent]
    subscriber.close()
