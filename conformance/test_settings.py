"""Test settings that select a different code path from the default: frames arrive unaltered, and link ends close."""

from __future__ import annotations

import itertools
import re
import time

from conformance.cases import Case, for_each, settings_cases
from conformance.connection import connect, receive_frames
from conformance.node_pool import NodePool
from conformance.scripted_node import ScriptedNode
from conformance.test_rpc import NATIVE, call, connect_call

SIZES = (0, 1000)
LARGEST = 3
"""The number of frames that are sent at the largest size."""
PATIENCE_S = 10


@for_each(settings_cases())
def test_a_setting_carries_frames_whole_and_closes(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, frame_bytes=64 + max(1 << 20, case.limit(case.payload_bytes)))
    sender, receiver = connection.sender, connection.receivers[0]
    for seq, size in enumerate((*SIZES, *[case.limit(case.payload_bytes)] * LARGEST, *SIZES)):
        assert sender.send("out", seq, 1, size)["accepted"] == 1
        seen = receive_frames(receiver, "in0", 1)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]
    wait_for_facts(case, sender, receiver)
    receiver.close_end("in0")
    sender.close_end("out")


def wait_for_facts(case: Case, sender: ScriptedNode, receiver: ScriptedNode) -> None:
    """Send frames until the receiver's facts match, because zenoh creates its shared memory only after the first
    frames."""
    deadline = time.monotonic() + PATIENCE_S
    for seq in itertools.count(2 * len(SIZES) + LARGEST):
        if not (wrong := wrong_facts(case, receiver)):
            return
        assert time.monotonic() < deadline, f"not {case.facts} but {wrong}"
        sender.send("out", seq, 1, case.limit(case.payload_bytes))
        receiver.receive("in0", 1)


def wrong_facts(case: Case, receiver: ScriptedNode) -> dict[str, str | None]:
    """Return the receiver's facts that do not match."""
    facts = dict(receiver.execute(do="facts"))
    return {
        name: facts.get(name) for name, expected in case.facts.items() if not re.search(expected, facts.get(name, ""))
    }


@for_each([case for case in settings_cases("rpc") if case.manifest.name in NATIVE])
def test_a_setting_carries_calls_whole_and_closes(case: Case, pool: NodePool) -> None:
    client, server = connect_call(pool, case)
    for seq, size in enumerate((*SIZES, case.limit(case.payload_bytes), *SIZES)):
        replies = call(client, server, seq, size)
        assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, size)]
    if "pubsub" not in case.manifest.offers[case.receiver].patterns:
        assert wrong_facts(case, server) == {}
    client.close_end("ask")
    server.close_end("answer")
