"""Receivers must reject messages that are larger than their largest frame, so that a peer cannot make them allocate
unlimited memory."""

from __future__ import annotations

import re
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
    (receiver,) = connection.receivers
    stranger = pool.node(case.manifest, case.sender, case.wait, frame_bytes=64 + LARGE)
    link = stranger.open("publisher", "huge", pool.link())
    receiver.open("subscriber", "victim", {**link, "frame_bytes": 64 + SMALL})
    before = memory_bytes(receiver.process.pid)
    try:
        receiver.begin(do="receive", name="victim", count=1, within_ms=1500)
        stranger.send("huge", 0, 20, LARGE, within_ms=200)
        assert seqs(receiver.finish()["frames"]) == []
    except NodeError as refused:
        assert re.search("frame|size|large|long|limit", str(refused)), refused
    assert memory_bytes(receiver.process.pid) - before < 2 * LARGE
    assert connection.sender.send("out", 7, 1, 100)["accepted"] == 1
    assert seqs(receive_frames(receiver, "in0", 1)) == [7]


def memory_bytes(pid: int) -> int:
    """Return the peak resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
