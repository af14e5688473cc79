"""Test the settings with which a manifest promises no loss: all frames arrive even if the sender is faster than the
receiver."""

from __future__ import annotations

import time

from conformance.cases import Case, for_lossless, lossless_cases
from conformance.connection import connect, receive_frames, seqs
from conformance.node_pool import NodePool

FRAMES, FRAME_BYTES = 2000, 20_000
"""More frames than a transport's queues hold by default."""
HEAD_START_S = 0.3
"""How long the sender runs before the receiver starts to receive."""

WITHIN_MS = 60_000
"""How long the frames may take on a busy machine."""


@for_lossless(lossless_cases())
def test_nothing_is_lost(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, blocking=False)
    connection.sender.begin_sending("out", 0, FRAMES, case.limit(FRAME_BYTES), within_ms=WITHIN_MS)
    time.sleep(HEAD_START_S)
    seen = seqs(receive_frames(connection.receivers[0], "in0", FRAMES, WITHIN_MS))
    assert connection.sender.finish()["accepted"] == FRAMES
    assert seen == list(range(FRAMES))
