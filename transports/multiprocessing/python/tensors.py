"""Tensors that PyTorch passes between unrelated processes: each frame is a tensor of bytes in shared memory, and the
connection carries the pickled reference to this memory."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import secrets
import socket
from collections.abc import Callable
from multiprocessing import reduction, resource_sharer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link, Setup, Take

from ..._multiprocessing.python import keys
from ..._multiprocessing.python.ends import Reader, Subscriber
from ..._multiprocessing.python.piped import PipeOutlet
from ..._multiprocessing.python.publishing import Publisher
from .calls import Client, Line, Server

REFERENCE_BYTES = 4096
"""The limit for a pickled tensor, which contains only a reference to its memory."""
QUEUE_BYTES = 8192
"""SO_SNDBUF of a connection, which limits how many references wait for their receiver.

Until the receiver has read a reference, the sender keeps the tensor's file descriptor open. With the system's default
buffer, the references that wait could exceed the usual limit of 1024 open files.
"""
GONE = (FileNotFoundError, ConnectionError, EOFError)


def load_torch(setup: Setup) -> None:
    """Import PyTorch, which makes `Connection.send` pass the memory of a tensor.

    Prepare this process to share memory with the other processes of the trial, which are neither its parents nor its
    children.
    """
    try:
        import torch.multiprocessing
    except ImportError as cause:
        remedy = "run `hopmeter build --framework torch`, or use kind = shared_memory"
        raise AdapterError("kind = torch needs PyTorch", remedy) from cause
    torch.multiprocessing.set_sharing_strategy(setup.settings["sharing"])
    os.environ["TMPDIR"] = setup.directory  # for the sockets of multiprocessing and PyTorch
    multiprocessing.current_process().authkey = common_key(Path(setup.directory, "authkey"))


def common_key(path: Path) -> bytes:
    """Return the authkey of all processes of a trial. The first process creates it."""
    own = path.with_name(f"authkey-{os.getpid()}")
    with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(keys.KEY_BYTES))
    with contextlib.suppress(FileExistsError):
        os.link(own, path)
    own.unlink()
    return path.read_bytes()


def bound_queue(connection: Connection[Any, Any]) -> Connection[Any, Any]:
    """Limit how many references wait in a connection for their receiver."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, QUEUE_BYTES)
    return connection


def new_tensor(length: int, fill: Fill) -> Any:
    """Return a new tensor of bytes with a frame, in ordinary memory, as if a model or a decoder had returned it."""
    import torch

    tensor = torch.empty(length, dtype=torch.uint8)
    fill(memory_of(tensor))
    return tensor


def memory_of(tensor: Any) -> Any:
    """Return the memory of a tensor of bytes, which is valid as long as the tensor exists."""
    return (ctypes.c_ubyte * tensor.numel()).from_address(tensor.data_ptr())


def reader_of(connection: Reader, frame_bytes: int) -> Callable[[], Any]:
    """Return a function that receives a tensor.

    The function raises EOFError if the sender was killed before this process has opened the tensor's memory.
    """

    def read() -> Any:
        reference = connection.recv_bytes(REFERENCE_BYTES)
        try:
            tensor = reduction.ForkingPickler.loads(reference)
        except GONE as cause:
            raise EOFError from cause
        if tensor.numel() > frame_bytes:
            what = f"a frame of {tensor.numel()} bytes, but the largest frame of this link has {frame_bytes}"
            raise AdapterError(what, "the sender is not a node of this trial")
        return tensor

    return read


class TensorPublisher(Publisher):
    def new_outlet(self, connection: Connection[Any, Any]) -> PipeOutlet:
        return PipeOutlet(bound_queue(connection), bare=False)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if any(outlet.is_full for outlet in self.outlets()):
            return False
        return self._put(new_tensor(HEADER_BYTES + payload_bytes, fill))


class TensorSubscriber(Subscriber):
    def __init__(self, _setup: Setup, link: Link, keyed: bool) -> None:
        super().__init__(link.wait == "spin")
        self._reader = Reader(keys.connect(link.address, keyed), self._spins)
        self._next = reader_of(self._reader, link.frame_bytes)

    def _receive(self, timeout_s: float, take: Take) -> int:
        tensor = self._reader.receive(timeout_s, self._next)
        if tensor is None:
            return 0
        take(memory_of(tensor), native=tensor)
        return 1

    def close(self) -> None:
        super().close()
        self._reader.close()


class TensorLine(Line):
    def __init__(self, connection: Connection[Any, Any], link: Link) -> None:
        super().__init__(bound_queue(connection), link)
        self._next = reader_of(self.reader, link.frame_bytes)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self.writer.is_full:
            return False
        self.writer.send(new_tensor(HEADER_BYTES + payload_bytes, fill))
        return True

    def receive(self, timeout_s: float, take: Take) -> int:
        tensor = self.reader.receive(timeout_s, self._next)
        if tensor is None:
            return 0
        take(memory_of(tensor))
        return 1


class TensorClient(Client):
    def _open(self, connection: Connection[Any, Any], _setup: Setup, link: Link) -> Line:
        return TensorLine(connection, link)


class TensorServer(Server):
    def new_outlet(self, connection: Connection[Any, Any]) -> Line:
        return TensorLine(connection, self.link)


def stop_sharing() -> None:
    """Close the socket from which other processes get the memory of tensors."""
    resource_sharer.stop()


ENDS = (TensorPublisher, TensorSubscriber, TensorServer, TensorClient)
