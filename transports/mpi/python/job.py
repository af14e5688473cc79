"""The MPI job that the nodes of a trial form together. ../README.md describes how a node becomes a rank."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from array import array
from itertools import count
from typing import Any

import mpi4py

from hopmeter.node.contract import AdapterError, Setup

mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI  # noqa: E402  (the two options must be set first)

PAUSE_S = 0.002
"""The pause between two checks of whether the job has started, or whether messages are still unfinished."""
UNUSED_TAG = 0
"""A tag that no link end uses."""


def is_done_by(request: Any, until: float) -> bool:
    """Wait for a request, at most until a time of `time.monotonic`. Return whether the request is done."""
    while not request.Test():
        if time.monotonic() >= until:
            return False
    return True


class Job:
    """This process's place in the job.

    A thread initializes MPI as soon as the job has started, and finalizes MPI at the end, because the same thread must
    do both. In between, the thread calls MPI only while messages are unfinished.
    """

    def __init__(self, setup: Setup) -> None:
        self._folder, own = setup.broker, str(os.getpid())
        self._waiting = os.path.join(self._folder, "waiting", own)
        self._rank = os.path.join(self._folder, "ranks", own)
        self._tags, self._is_rung = count(1), False
        self._ranks: list[int] = []
        self._failure = ""
        with open(self._waiting, "x"):
            pass
        self._unfinished, self._lock = 0, threading.Lock()
        self._kept: list[Any] = []  # the requests that their link ends have released, but that are not done
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def has_started(self) -> bool:
        """Return whether this process is a rank. If not, first sleep briefly, so that a spinning caller does not keep
        the core from the thread that initializes MPI."""
        if self._ranks:
            return True
        if self._failure:
            raise AdapterError(self._failure, "read the log of mpirun")
        time.sleep(PAUSE_S)
        return False

    def start(self) -> None:
        """Request a job with all waiting nodes from the broker."""
        if self._is_rung:
            return
        self._is_rung = True
        bell = os.open(os.path.join(self._folder, "doorbell"), os.O_WRONLY | os.O_NONBLOCK)
        os.write(bell, b"start\n")
        os.close(bell)

    def count_unfinished(self, ends: int) -> None:
        """Add `ends`, which is 1 or -1, to the number of link ends that have unfinished messages.

        While there are such link ends, the thread calls MPI: MPI sends messages only inside its functions, and the
        link ends may call none.
        """
        with self._lock:
            self._unfinished += ends
        self._wake.set()

    def release(self, requests: list[Any], until: float) -> None:
        """Wait until requests are done, at most until a time of `time.monotonic`. Keep the rest until they are done, or
        until MPI is finalized; a request refers to its memory, so Python does not free the memory."""
        left = [request for request in requests if not _is_settled(request, until)]
        with self._lock:
            self._kept += left
        self._wake.set()

    def next_tag(self) -> int:
        """Return a tag that no other link end of this process uses."""
        return next(self._tags)

    def rank_of(self, pid: int) -> int:
        """Return the rank of the node with a process id."""
        if pid not in self._ranks:
            raise AdapterError(
                "the sender's process is not in the MPI job of this process",
                "start all processes before the first message: no process can join an MPI job later",
            )
        return self._ranks.index(pid)

    def is_alive(self, rank: int) -> bool:
        """Return whether the process of a rank still exists."""
        with contextlib.suppress(PermissionError):
            try:
                os.kill(self._ranks[rank], 0)
            except ProcessLookupError:
                return False
        return True

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            if not self._await_rank():
                return
            self._ranks = initialize()
        except (AdapterError, MPI.Exception, OSError) as error:
            self._failure = str(error)
            return
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            while (self._unfinished > 0 or self._kept) and not self._stop.wait(PAUSE_S):
                MPI.COMM_WORLD.Iprobe(MPI.ANY_SOURCE, UNUSED_TAG)
                with self._lock:
                    self._kept = [request for request in self._kept if not _is_settled(request, 0.0)]
        MPI.Finalize()

    def _await_rank(self) -> bool:
        """Wait until mpirun has a rank for this process, and copy the environment of the rank. Return False if the
        thread has to end before that."""
        while not os.path.exists(self._rank):
            if self._stop.wait(PAUSE_S):
                with contextlib.suppress(FileNotFoundError):  # mpirun may have started the job meanwhile
                    os.unlink(self._waiting)
                return False
        with open(self._rank, "rb") as file:
            entries = file.read().split(b"\0")
        os.environb.update(entry.split(b"=", 1) for entry in entries if b"=" in entry)
        return True


def _is_settled(request: Any, until: float) -> bool:
    """Like `is_done_by`, but return False if MPI reports an error."""
    try:
        return is_done_by(request, until)
    except MPI.Exception:
        return False


def initialize() -> list[int]:
    """Initialize MPI, and return the process id of each rank."""
    if MPI.Init_thread(MPI.THREAD_MULTIPLE) < MPI.THREAD_MULTIPLE:
        raise AdapterError("this MPI library does not support MPI_THREAD_MULTIPLE", "install another MPI library")
    MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    pids = array("i", bytes(4 * MPI.COMM_WORLD.Get_size()))
    MPI.COMM_WORLD.Allgather((array("i", [os.getpid()]), MPI.INT), (pids, 1, MPI.INT))
    return list(pids)
