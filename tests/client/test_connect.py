"""Two real programs that share only a folder exchange objects over several transports."""

from __future__ import annotations

import importlib.util
import json
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hopmeter
from hopmeter.client import CallFailedError, ConnectError, TimedOutError, links
from hopmeter.system import paths
from tests.waiting import wait_for

PEER = Path(__file__).with_name("peer.py")
PATIENCE_S = 30


def _peer_module() -> Any:
    spec = importlib.util.spec_from_file_location("peer_of_connect", PEER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OBJECTS = _peer_module().OBJECTS
HAS_RING = any((folder / "libhopmeter_shm.so").exists() for folder in paths.node_folders())
HAS_ZEROMQ = importlib.util.find_spec("zmq") is not None
TRANSPORTS = [
    pytest.param("queue", {"content": "bytes"}, id="queue"),
    pytest.param("queue", {"kind": "shared_memory"}, id="queue-segment"),
    pytest.param("unix", {}, id="unix"),
    pytest.param(
        "shm", {}, id="shm", marks=pytest.mark.skipif(not HAS_RING, reason="`hopmeter build shm` makes its library")
    ),
    pytest.param(
        "zeromq",
        {},
        id="zeromq",
        marks=pytest.mark.skipif(not HAS_ZEROMQ, reason="`hopmeter build zeromq` installs it"),
    ),
]


@contextmanager
def other(
    role: str, transport: str, folder: Path, settings: dict[str, str], killed: bool = False
) -> Iterator[subprocess.Popen[str]]:
    words = [f"{name}={value}" for name, value in settings.items()]
    command = [sys.executable, str(PEER), role, transport, str(folder), *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()
        assert process.wait(PATIENCE_S) == (-signal.SIGKILL if killed else 0)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def same(one: Any, two: Any) -> bool:
    if isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in two)
    if isinstance(two, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and bool((one == two).all())
    return bool(one == two)


@pytest.mark.parametrize(("transport", "settings"), TRANSPORTS)
def test_objects_of_a_publisher_arrive_elsewhere_and_stay_valid(
    transport: str, settings: dict[str, str], tmp_path: Path
) -> None:
    """The first object is compared last, after its frame has been reused many times."""
    with other("publish", transport, tmp_path, settings), hopmeter.connect(transport, folder=tmp_path) as house:
        came: queue.Queue[Any] = queue.Queue()
        called = house.subscriber("camera", came.put)
        subscriber = house.subscriber("camera")
        received = [subscriber.receive(timeout_s=PATIENCE_S) for _ in range(8)]
        received += [came.get(timeout=PATIENCE_S) for _ in range(8)]
        called.close()
    assert {each["name"] for each in received} == set(OBJECTS)
    assert all(same(each["object"], OBJECTS[each["name"]]) for each in received)
    arrays = [each["object"] for each in received if each["name"] in ("array", "image")]
    assert all(array.flags.writeable and array.ctypes.data % 64 == 0 for array in arrays)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("transport", "settings"), TRANSPORTS)
def test_calls_are_answered_elsewhere(transport: str, settings: dict[str, str], tmp_path: Path) -> None:
    with (
        other("serve", transport, tmp_path, settings),
        hopmeter.connect(transport, folder=tmp_path, **settings) as house,
    ):
        clients = [house.client("add"), house.client("add")]
        for client in clients:
            for sent in OBJECTS.values():
                answer = client.call(sent, timeout_s=PATIENCE_S)
                assert same(answer, sent * 2 if isinstance(sent, np.ndarray) else {"got": sent})
            with pytest.raises(CallFailedError, match=r"ValueError: asked to fail.*E-CALL-FAILED"):
                client.call("fail", timeout_s=PATIENCE_S)
            assert client.call("after", timeout_s=PATIENCE_S) == {"got": "after"}
    assert list(tmp_path.iterdir()) == []


def test_a_dead_peer_s_address_is_recognised_and_its_folder_removed(tmp_path: Path) -> None:
    killed = other("publish", "unix", tmp_path, {}, killed=True)
    with killed as process, hopmeter.connect("unix", folder=tmp_path) as house:
        subscriber = house.subscriber("camera")
        subscriber.receive(timeout_s=PATIENCE_S)
        (directory,) = _directories(tmp_path)
        assert directory.is_dir()
        process.kill()  # the process is not reaped yet: a zombie counts as dead
        with pytest.raises(TimedOutError, match=rf"process {process.pid} .*E-PEER-GONE"):
            while True:
                subscriber.receive(timeout_s=0.2)
        with pytest.raises(ConnectError, match="E-PEER-MISSING"):
            house.subscriber("camera", within_s=0.05)
        assert not directory.exists()
        assert list(tmp_path.iterdir()) == []
        house.publisher("camera")  # the name can be used again


def _directories(folder: Path) -> list[Path]:
    return [Path(json.loads(path.read_text())["directory"]) for path in folder.glob("*.json")]


def test_a_server_lets_go_of_clients_that_left(tmp_path: Path) -> None:
    with hopmeter.connect("queue", folder=tmp_path) as house:
        house.server("add", lambda asked: asked)
        for word in ("one", "two"):
            with hopmeter.connect("queue", folder=tmp_path) as elsewhere:
                assert elsewhere.client("add").call(word, timeout_s=PATIENCE_S) == word
    assert list(tmp_path.iterdir()) == []


def test_a_server_lets_go_of_a_client_that_was_killed(tmp_path: Path) -> None:
    with hopmeter.connect("queue", folder=tmp_path) as house:
        house.server("add", lambda asked: asked)
        with other("ask", "queue", tmp_path, {}, killed=True) as process:
            assert len(list(tmp_path.iterdir())) == 3  # one for the server, one for requests and one for replies
            process.kill()
            wait_for(lambda: len(list(tmp_path.iterdir())) == 1)
    assert list(tmp_path.iterdir()) == []


def test_a_transport_that_calls_brings_objects_and_calls_too(tmp_path: Path) -> None:
    if not HAS_RING:
        pytest.skip("`hopmeter build shm` makes its library")
    wait = {"wait": "callback"}
    with other("publish", "shm", tmp_path, wait), hopmeter.connect("shm", folder=tmp_path, **wait) as house:
        came: queue.Queue[Any] = queue.Queue()
        house.subscriber("camera", came.put)
        subscriber = house.subscriber("camera")
        received = [subscriber.receive(PATIENCE_S) for _ in range(4)] + [came.get(timeout=PATIENCE_S)]
        assert all(same(each["object"], OBJECTS[each["name"]]) for each in received)
        house.server("add", lambda asked: asked)
        assert house.client("add").call("called", PATIENCE_S) == "called"


def test_ends_that_wait_differently_share_the_transport_of_their_link(tmp_path: Path) -> None:
    if not HAS_RING:
        pytest.skip("`hopmeter build shm` makes its library")
    with (
        hopmeter.connect("shm", folder=tmp_path, wait="spin") as spinning,
        hopmeter.connect("shm", folder=tmp_path, wait="callback") as called,
    ):
        publisher = spinning.publisher("camera")
        came: queue.Queue[Any] = queue.Queue()
        called.subscriber("camera", came.put)
        polled = spinning.subscriber("camera")
        assert links.TRANSPORTS.open_count == 1
        publisher.send("seen", PATIENCE_S)
        assert (came.get(timeout=PATIENCE_S), polled.receive(PATIENCE_S)) == ("seen", "seen")
    assert links.TRANSPORTS.open_count == 0


def test_a_function_that_raises_is_logged_and_gets_the_next_object(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    came: queue.Queue[Any] = queue.Queue()

    def on_object(received: Any) -> None:
        came.put(received["name"])
        raise ValueError("not this one")

    with other("publish", "unix", tmp_path, {}), hopmeter.connect("unix", folder=tmp_path) as house:
        house.subscriber("camera", on_object)
        assert {came.get(timeout=PATIENCE_S) for _ in range(8)} == set(OBJECTS)
    assert "the function that receives objects failed" in caplog.text


def test_a_peer_that_is_not_there_is_waited_for_and_named(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        with pytest.raises(ConnectError, match=r'publishes "camera" over Unix stream sockets.*E-PEER-MISSING'):
            house.subscriber("camera", within_s=0.05)
        with pytest.raises(ConnectError, match=r'serves "add".*E-PEER-MISSING'):
            house.client("add", within_s=0.05)
        house.publisher("camera")
        quiet = house.subscriber("camera")
        with pytest.raises(TimeoutError, match=r"0.01 s.*E-PEER-SILENT"):
            quiet.receive(timeout_s=0.01)
    with pytest.raises(ConnectError, match="E-CLOSED"):
        quiet.receive()
    with pytest.raises(ConnectError, match="E-CLOSED"):
        house.publisher("camera")


def test_a_receiver_that_left_when_all_was_full_holds_up_nobody(tmp_path: Path) -> None:
    with hopmeter.connect("queue", folder=tmp_path, kind="shared_memory") as house:
        publisher = house.publisher("camera")
        subscriber = house.subscriber("camera")
        with pytest.raises(TimedOutError, match="E-BUSY"):
            for _ in range(1_000_000):
                publisher.send("one more", timeout_s=0.05)
        subscriber.close()
        publisher.send("to nobody", timeout_s=PATIENCE_S)


def test_a_receiver_that_takes_nothing_makes_sending_time_out(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        publisher = house.publisher("camera")
        house.subscriber("camera")
        with pytest.raises(TimedOutError, match=r"0.01 s.*E-BUSY"):
            for _ in range(10_000):
                publisher.send(OBJECTS["image"], timeout_s=0.01)
