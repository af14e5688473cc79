"""A receiver that trusts other keys than those of its peer, or of the broker, gets nothing."""

from __future__ import annotations

import contextlib
import time

from conformance.cases import Case, for_each, settings_cases
from conformance.connection import Connection, connect, receive_frames, seqs
from conformance.node_pool import NodePool
from conformance.scripted_node import NodeError
from hopmeter.manifest.tables.setting import OFF, SECURITY

SECURED = {
    (case.manifest.name, case.receiver): case for case in settings_cases() if case.overrides.get(SECURITY, OFF) != OFF
}
FRAMES = 20
FRAME_BYTES = 64 + 100
"""A small limit for the size of messages must leave room for the library's handshake."""
PAUSE_S = 0.05
"""The time between frames. A subscription of a receiver with the right keys takes effect within 20 pauses."""


@for_each([*SECURED.values()])
def test_a_receiver_with_foreign_keys_gets_nothing(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, frame_bytes=FRAME_BYTES)
    with contextlib.suppress(NodeError):  # some libraries report the untrusted peer, others stay silent
        stranger = pool.node(case.manifest, case.receiver, case.wait, FRAME_BYTES, keys="foreign", **case.overrides)
        stranger.open("subscriber", "foreign", connection.link)
        stranger.begin(do="receive", name="foreign", count=1, within_ms=2000)
        exchange(connection)
        assert stranger.finish()["frames"] == []
    exchange(connection)


def exchange(connection: Connection) -> None:
    """Send frames, and check that the trusted receiver gets them."""
    for seq in range(1, FRAMES + 1):
        assert connection.sender.send("out", seq, 1, 100)["accepted"] == 1
        assert seqs(receive_frames(connection.receivers[0], "in0", 1)) == [seq]
        time.sleep(PAUSE_S)
