"""Receivers must reject messages larger than their largest frame, so that a peer cannot exhaust their memory."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from conformance.cases import Case, adapters, for_each
from conformance.connection import connect, receive_frames, seqs
from conformance.node_pool import NodePool
from conformance.scripted_node import NodeError

SMALL, LARGE = 1000, 8 << 20
LIMITED = [case for case in adapters() if case.manifest.message_limit and not case.one_process]


@for_each(LIMITED)
def test_a_message_beyond_the_limit_does_not_arrive(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, frame_bytes=64 + SMALL)
    (receiver,), large = connection.receivers, case.limit(LARGE)
    stranger = pool.node(case.manifest, case.sender, case.wait, frame_bytes=64 + large)
    link = stranger.open("publisher", "huge", pool.link())
    receiver.open("subscriber", "victim", {**link, "frame_bytes": 64 + SMALL})
    before = memory_bytes(receiver.process.pid)
    receiver.begin(do="receive", name="victim", count=1, within_ms=1500)
    with allow_refusal():
        stranger.send("huge", 0, 20, large, within_ms=200)
    with allow_refusal():
        assert seqs(receiver.finish()["frames"]) == []
    assert memory_bytes(receiver.process.pid) - before < 2 * LARGE
    assert connection.sender.send("out", 7, 1, 100)["accepted"] == 1
    assert seqs(receive_frames(receiver, "in0", 1)) == [7]


@contextlib.contextmanager
def allow_refusal() -> Iterator[None]:
    """Accept a node's error, which must contain the frame size."""
    try:
        yield
    except NodeError as refused:
        assert re.search("frame|size|large|long|limit", str(refused)), refused


def memory_bytes(pid: int) -> int:
    """Return the peak resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
