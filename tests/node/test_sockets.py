"""Tests for the unsent bytes of a slow peer, and for the time that a socket waits."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from hopmeter.node.sockets import Backlog, set_patience

PATIENCE_S = 10


def test_a_backlog_is_sent_in_order_as_the_peer_takes_it() -> None:
    taken, sent = threading.Semaphore(0), bytearray()

    def send(rest: memoryview) -> int:
        if not taken.acquire(timeout=0.01):
            return 0
        sent.extend(rest[:3])
        return min(3, len(rest))

    backlog, data = Backlog(send), bytearray(b"first")
    backlog.begin(data)
    data[:] = b"other"  # the data was copied
    with backlog.lock:
        assert backlog.pieces
        backlog.append(b"second")
    for _ in range(4):
        taken.release()
    backlog.join()
    assert (bytes(sent), list(backlog.pieces)) == (b"firstsecond", [])


def test_the_end_of_the_connection_drops_what_is_left() -> None:
    def send(_rest: memoryview) -> int:
        raise BrokenPipeError

    backlog = Backlog(send)
    backlog.begin(b"rest")
    backlog.join()
    assert not backlog.pieces


@pytest.mark.parametrize("seconds", [0.05, 0.0])
def test_patience_ends(seconds: float) -> None:
    one, other = socket.socketpair()
    with one, other:
        set_patience(one, socket.SO_RCVTIMEO, seconds)
        before = time.monotonic()
        with pytest.raises(BlockingIOError):
            one.recv(1)
        assert seconds <= time.monotonic() - before < PATIENCE_S
