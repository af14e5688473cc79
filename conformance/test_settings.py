"""Settings that take another way than the default: what each carries is whole, and it closes."""

from __future__ import annotations

import itertools
import re
import time

from conformance.cases import Case, every, tried
from conformance.meeting import meet, received
from conformance.puppet import Puppet
from conformance.test_rpc import NATIVE, call, connect
from conformance.theatre import Theatre

SIZES = (0, 1000)
LARGEST = 3
"""Frames of the largest size."""
PATIENCE_S = 10


@every(tried())
def test_a_setting_carries_frames_whole_and_closes(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case, frame_bytes=64 + max(1 << 20, case.payload_bytes))
    sender, receiver = meeting.sender, meeting.receivers[0]
    for seq, size in enumerate((*SIZES, *[case.payload_bytes] * LARGEST)):
        assert sender.send("out", seq, 1, size)["accepted"] == 1
        seen = received(receiver, "in0", 1)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]
    prove_the_way(case, sender, receiver)
    receiver.close_end("in0")
    sender.close_end("out")


def prove_the_way(case: Case, sender: Puppet, receiver: Puppet) -> None:
    """That frames come as the setting asks for. zenoh makes its shared memory while the first ones are on their way."""
    deadline = time.monotonic() + PATIENCE_S
    for seq in itertools.count(len(SIZES) + LARGEST):
        if not (wrong := wrong_facts(case, receiver)):
            return
        assert time.monotonic() < deadline, f"not {case.facts} but {wrong}"
        sender.send("out", seq, 1, case.payload_bytes)
        receiver.receive("in0", 1)


def wrong_facts(case: Case, receiver: Puppet) -> dict[str, str | None]:
    """The receiver's facts that are not what the setting asks for."""
    facts = dict(receiver.tell(do="facts"))
    return {name: facts.get(name) for name, asked in case.facts.items() if not re.search(asked, facts.get(name, ""))}


@every([case for case in tried("rpc") if case.manifest.name in NATIVE])
def test_a_setting_carries_calls_whole_and_closes(case: Case, theatre: Theatre) -> None:
    client, server = connect(theatre, case)
    for seq, size in enumerate((*SIZES, case.payload_bytes)):
        replies = call(client, server, seq, size)
        assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, size)]
    if "pubsub" not in case.manifest.offers[case.receiver].patterns:
        assert wrong_facts(case, server) == {}
    client.close_end("ask")
    server.close_end("answer")
