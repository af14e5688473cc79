"""Objects between two real programs that have nothing in common but a folder, over several transports."""

from __future__ import annotations

import importlib.util
import queue
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hopmeter
from hopmeter import places
from hopmeter.connecting import CallFailedError, ConnectError, TimedOutError

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
HAS_RING = any((folder / "libhopmeter_shm.so").exists() for folder in places.node_folders())
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
def other(role: str, transport: str, folder: Path, settings: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The other program, from when it is ready until it has ended."""
    words = [f"{name}={value}" for name, value in settings.items()]
    command = [sys.executable, str(PEER), role, transport, str(folder), *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
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
    """Asked for and called, in one other program; what came first is compared last, when its frame is long reused."""
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
            with pytest.raises(CallFailedError, match="ValueError: asked to fail"):
                client.call("fail", timeout_s=PATIENCE_S)
            assert client.call("after", timeout_s=PATIENCE_S) == {"got": "after"}
    assert list(tmp_path.iterdir()) == []


def test_a_dead_peer_s_address_is_recognised_and_its_folder_removed(tmp_path: Path) -> None:
    with other("publish", "unix", tmp_path, {}) as process:
        with hopmeter.connect("unix", folder=tmp_path) as house:
            subscriber = house.subscriber("camera")
            subscriber.receive(timeout_s=PATIENCE_S)
            (directory,) = _directories(tmp_path)
            assert directory.is_dir()
            process.kill()  # before it is reaped: a zombie counts as dead
            with pytest.raises(TimedOutError, match=f"process {process.pid} has ended"):
                while True:
                    subscriber.receive(timeout_s=0.2)
            with pytest.raises(ConnectError, match="nobody publishes"):
                house.subscriber("camera", within_s=0.05)
            assert not directory.exists()
            assert list(tmp_path.iterdir()) == []
            house.publisher("camera")  # the name is free again
        process.returncode = 0  # it was killed on purpose


def _directories(folder: Path) -> list[Path]:
    import json

    return [Path(json.loads(path.read_text())["directory"]) for path in folder.glob("*.json")]


def test_a_server_lets_go_of_clients_that_left(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        house.server("add", lambda asked: asked)
        for word in ("one", "two"):
            with hopmeter.connect("unix", folder=tmp_path) as elsewhere:
                assert elsewhere.client("add").call(word, timeout_s=PATIENCE_S) == word
    assert list(tmp_path.iterdir()) == []


def test_a_peer_that_is_not_there_is_waited_for_and_named(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        with pytest.raises(ConnectError, match=r'nobody publishes "camera" over Unix stream sockets.*start the other'):
            house.subscriber("camera", within_s=0.05)
        with pytest.raises(ConnectError, match='nobody serves "add"'):
            house.client("add", within_s=0.05)
        house.publisher("camera")
        quiet = house.subscriber("camera")
        with pytest.raises(TimeoutError, match=r"nothing came within 0.01 s"):
            quiet.receive(timeout_s=0.01)
    with pytest.raises(ConnectError, match="is closed"):
        quiet.receive()
    with pytest.raises(ConnectError, match="house is closed"):
        house.publisher("camera")


def test_what_does_not_fit_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path, largest_bytes=4096) as house:
        publisher = house.publisher("camera")
        with pytest.raises(ConnectError, match=r"takes \d+ bytes, and this link carries 4096.*give largest_bytes="):
            publisher.send(np.zeros(4096))
        house.server("add", lambda _: np.zeros(4096))
        with pytest.raises(CallFailedError, match="this link carries 4096"):
            house.client("add").call("large", timeout_s=PATIENCE_S)


def test_a_receiver_that_takes_nothing_makes_sending_time_out(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        publisher = house.publisher("camera")
        house.subscriber("camera")
        with pytest.raises(TimedOutError, match=r"stayed busy for 0.01 s"):
            for _ in range(10_000):
                publisher.send(OBJECTS["image"], timeout_s=0.01)


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        house.publisher("camera")
        with pytest.raises(ConnectError, match="already taken over unix, by process"):
            house.publisher("camera")
        with pytest.raises(hopmeter.errors.UsageError, match="no name for a link"):
            house.publisher("../camera")


def test_what_is_asked_of_a_transport_is_checked(tmp_path: Path) -> None:
    def refused(transport: str, error: type[Exception], match: str, **asked: Any) -> None:
        with pytest.raises(error, match=match):
            hopmeter.connect(transport, folder=tmp_path, **asked)

    usage = hopmeter.errors.UsageError
    refused("zeromk", usage, "did you mean")
    refused("unix", usage, 'did you mean "send_buffer"', send_bufer=1)
    refused("unix", usage, "below the least allowed", send_buffer=-1)
    refused("unix", usage, "no whole number", send_buffer="large")
    refused("unix", usage, "is not one of spin, block", wait="callback")
    refused("unix", usage, "largest_bytes = 1 is not between", largest_bytes=1)
    refused("memory", ConnectError, "no adapter for Python")
    refused("nats", ConnectError, "needs .*nats.*start it, and say where it listens")


def test_a_transport_that_is_not_installed_names_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter of this test's own, whose library nobody has."""
    home = tmp_path / "transports/absent"
    (home / "python").mkdir(parents=True)
    text = (places.transport_folders()[0] / "unix/transport.toml").read_text()
    (home / "transport.toml").write_text(text.replace('name = "unix"', 'name = "absent"'))
    (home / "python/adapter.py").write_text("import a_library_that_nobody_has\n")
    monkeypatch.setattr(places, "transport_folders", lambda: [home.parent])
    path = list(sys.path)
    with pytest.raises(ConnectError, match=r"a_library_that_nobody_has.*run `hopmeter build absent`"):
        hopmeter.connect("absent", folder=tmp_path / "meeting")
    assert sys.path == path
    unowned = text.replace('name = "unix"', 'name = "absent"') + "\n[languages.python.user]\n"
    (home / "transport.toml").write_text(unowned + 'variable = "ABSENT_ROOT"\nremedy = "build it, set ABSENT_ROOT"\n')
    with pytest.raises(ConnectError, match=r"is not installed here.*build it, set ABSENT_ROOT"):
        hopmeter.connect("absent", folder=tmp_path / "meeting")


def test_two_transports_whose_files_have_the_same_names_are_used_in_one_program(tmp_path: Path) -> None:
    """`queue` has `ends.py`, and so may others; none of them stays importable."""
    for transport in ("queue", "unix", "queue"):
        with hopmeter.connect(transport, folder=tmp_path) as house:
            house.publisher("camera")
    assert not {"ends", "piped", "streams"} & set(sys.modules)


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(ConnectError, match="others may write to"):
        hopmeter.connect("unix", folder=tmp_path)


def test_frames_of_others_are_passed_over() -> None:
    from hopmeter.connecting.frames import Kind, incoming, outgoing

    length, fill = outgoing(Kind.OBJECT, 3, "00" * 8, [b"head", b"body"])
    frame = bytearray(64 + length)
    fill(frame)
    message = incoming("00" * 8, frame)
    assert message is not None
    assert (message.kind, message.number, bytes(message.payload)) == (Kind.OBJECT, 3, bytes(frame[64:]))
    assert incoming("01" * 8, frame) is None
    assert incoming("00" * 8, frame[:-1]) is None
    assert incoming("00" * 8, b"short") is None
