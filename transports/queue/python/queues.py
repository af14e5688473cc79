"""The kinds `multiprocessing.Queue` and `SimpleQueue`, with the standard library's own classes.

Each queue consists of a pipe, whose reading side is passed to the receiver, and a named semaphore.
"""

from __future__ import annotations

import _multiprocessing  # type: ignore[import-not-found]
import multiprocessing
import os
from collections.abc import Callable
from itertools import count
from multiprocessing import reduction
from multiprocessing.connection import Client, Connection, Pipe, wait
from multiprocessing.queues import Queue, SimpleQueue
from multiprocessing.synchronize import BoundedSemaphore
from typing import Any

from hopmeter.node.contract import Link, Setup, Take

from ..._multiprocessing.python.ends import Subscriber, Writer, WriterOutlet
from ..._multiprocessing.python.publishing import Publisher, waiting_limit

SEMAPHORE = 1
GREETING_S = 5
_LOCKS = multiprocessing.get_context("fork")  # locks of this context have no names that could remain


def free_places(name: str, most: int, new: bool) -> BoundedSemaphore:
    """Open the semaphore `name`, which counts a queue's free places."""
    made = BoundedSemaphore.__new__(BoundedSemaphore)
    if new:
        _multiprocessing.SemLock(SEMAPHORE, most, most, name, False)
    made.__setstate__((0, SEMAPHORE, most, name))  # type: ignore[attr-defined]
    return made


def queue_of(end: Connection[Any, Any], most: int, free: BoundedSemaphore) -> Queue[bytes]:
    """Return a queue with one half of the pipe, as a child process would receive the queue from multiprocessing."""
    made: Queue[bytes] = Queue.__new__(Queue)
    state = (True, most, end, end, _LOCKS.Lock(), _LOCKS.Lock(), free, os.getpid())
    made.__setstate__(state)  # type: ignore[arg-type]
    return made


def simple_queue_of(end: Connection[Any, Any]) -> SimpleQueue[bytes]:
    made: SimpleQueue[bytes] = SimpleQueue.__new__(SimpleQueue)
    made.__setstate__((end, end, _LOCKS.Lock(), _LOCKS.Lock()))  # type: ignore[arg-type]
    return made


class QueueOutlet(WriterOutlet):
    def __init__(self, writer: Writer, most: int, free: BoundedSemaphore, limit: int) -> None:
        super().__init__(writer)
        self._queue = queue_of(writer, most, free)
        self._limit = min(most, limit)
        self.put: Callable[[bytes], None] = self._queue.put_nowait

    @property
    def is_full(self) -> bool:
        return self._queue.qsize() >= self._limit

    def close(self) -> None:
        """Close the queue after the queue's thread has sent the queued messages, as long as the receiver accepts
        data."""
        self._queue.close()
        self.writer.stop()
        self._queue.join_thread()
        super().close()


class SimpleQueueOutlet(WriterOutlet):
    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self.put: Callable[[bytes], None] = simple_queue_of(writer).put


class QueuePublisher(Publisher):
    """Passes the reading side of a new pipe to each receiver."""

    _numbers = count()

    def new_outlet(self, connection: Connection[Any, Any]) -> QueueOutlet | SimpleQueueOutlet:
        reader, writer = Pipe(duplex=False)
        with connection, reader:
            reduction.send_handle(connection, reader.fileno(), 0)
            if self.setup.settings["kind"] == "simple_queue":
                return SimpleQueueOutlet(Writer(writer))
            most = self.setup.settings["maxsize"] or _multiprocessing.SemLock.SEM_VALUE_MAX
            free = self._shared_semaphore(connection, most)
        return QueueOutlet(Writer(writer, insists=True), most, free, waiting_limit(self.link))

    def _shared_semaphore(self, connection: Connection[Any, Any], most: int) -> BoundedSemaphore:
        """Return a semaphore that the receiver has also opened, so its name is no longer needed."""
        name = f"/{self.setup.run}_{os.getpid()}_{next(self._numbers)}"
        free = free_places(name, most, new=True)
        try:
            connection.send((name, most))
            if not connection.poll(GREETING_S):
                raise EOFError(f"a receiver of {self.link.name} did not answer")
            connection.recv()
        finally:
            _multiprocessing.sem_unlink(name)
        return free


class QueueSubscriber(Subscriber):
    def __init__(self, _setup: Setup, link: Link) -> None:
        super().__init__(link.wait == "spin")
        with Client(link.address, "AF_UNIX") as connection:
            self._reader: Connection[Any, Any] = Connection(reduction.recv_handle(connection), writable=False)
            self._open(connection)

    def _open(self, connection: Connection[Any, Any]) -> None:
        name, most = connection.recv()
        self._queue = queue_of(self._reader, most, free_places(name, most, new=False))
        connection.send(True)

    def close(self) -> None:
        super().close()
        self._reader.close()


class SimpleQueueSubscriber(QueueSubscriber):
    def _open(self, connection: Connection[Any, Any]) -> None:
        self._simple = simple_queue_of(self._reader)

    def _receive(self, timeout_s: float, take: Take) -> int:
        if not wait([self._reader], timeout_s):  # this kind of queue has no timeout for `get`
            return 0
        message = self._simple.get()
        take(message, native=message)
        return 1
