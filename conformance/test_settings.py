"""Settings that take another way than the default: what each carries is whole, and it closes."""

from __future__ import annotations

from conformance.cases import Case, every, tried
from conformance.meeting import frames, meet
from conformance.puppet import Theatre
from conformance.test_rpc import NATIVE, call, connect

SIZES = (0, 1000, 60_000)


@every(tried())
def test_a_setting_carries_frames_whole_and_closes(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    sender, receiver = meeting.sender, meeting.receivers[0]
    for seq, size in enumerate(SIZES):
        assert sender.send("out", seq, 1, size)["accepted"] == 1
        seen = frames(receiver.receive("in0", 1))
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]
    receiver.tell(do="close", name="in0")
    sender.tell(do="close", name="out")


@every([case for case in tried("rpc") if case.manifest.name in NATIVE])
def test_a_setting_carries_calls_whole_and_closes(case: Case, theatre: Theatre) -> None:
    client, server = connect(theatre, case)
    for seq, size in enumerate(SIZES):
        replies = call(client, server, seq, size)
        assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, size)]
    client.tell(do="close", name="ask")
    server.tell(do="close", name="answer")
