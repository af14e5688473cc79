"""The transport `multiprocessing` passes PyTorch tensors between two processes of which neither started the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hopmeter.node.contract import HEADER_BYTES
from hopmeter.node.loading import transport_class

TRANSPORT = Path(__file__).resolve().parents[2] / "transports/multiprocessing/python"
FRAME = bytes(range(256)) * 4
COUNT = 20
RECEIVER = f"""
import sys
sys.path[:0] = {[str(TRANSPORT.parents[2]), str(Path(__file__).parent)]!r}
import test_shared_tensors
test_shared_tensors.receive(*sys.argv[1:])
"""


def open_transport(directory: str, sharing: str) -> Any:
    settings = {"kind": "torch", "sharing": sharing}
    return transport_class(TRANSPORT)(SimpleNamespace(directory=directory, run="0" * 16, settings=settings))


def link_at(address: str) -> Any:
    return SimpleNamespace(name="frames", address=address, wait="block", frame_bytes=len(FRAME), receivers=1)


def receive(directory: str, sharing: str, address: str) -> None:
    """Receive frames in a separate process until all have arrived, and print how many have the right content."""
    transport = open_transport(directory, sharing)
    subscriber = transport.subscriber(link_at(address))
    came: list[bytes] = []
    print("ready", flush=True)
    while len(came) < COUNT:
        subscriber.poll(0.1, lambda frame, native: came.append(bytes(frame) if native.is_shared() else b""))
    print(came.count(FRAME), flush=True)
    subscriber.close()
    transport.close()


def fill(frame: Any) -> None:
    memoryview(frame).cast("B")[:] = FRAME


def send_until(publisher: Any, is_over: Callable[[], bool]) -> None:
    while not is_over():
        publisher.send(len(FRAME) - HEADER_BYTES, fill)


@pytest.mark.parametrize("sharing", ["file_descriptor", "file_system"])
def test_torch_tensors_reach_a_process_that_is_no_child(sharing: str, tmp_path: Path) -> None:
    transport = open_transport(str(tmp_path), sharing)
    publisher = transport.publisher(link_at(""))
    command = [sys.executable, "-c", RECEIVER, str(tmp_path), sharing, publisher.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as receiver:
        assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
        send_until(publisher, lambda: receiver.poll() is not None)
        assert receiver.stdout.read() == f"{COUNT}\n"
    publisher.close()
    transport.close()
    assert list(tmp_path.rglob("frames.*")) == []
