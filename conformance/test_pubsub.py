"""Every publisher and subscriber: content, order, sizes, many topics, late joiners, dead peers, busy."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

from conformance.cases import Case, adapters, every, pairs
from conformance.meeting import PROBE_SEQ, Meeting, behind_probes, catch_up, drain, frames, meet, prove, received, seqs
from conformance.puppet import Puppet, PuppetError
from conformance.theatre import Theatre

SIZES = [0, 1, 7, 63, 64, 65, 1000, 4096, 65_535, 65_536, 1 << 20, (1 << 24) - 1, 1 << 24]
"""Payload bytes; up to 16 MiB or the manifest's limit."""


def sizes(case: Case) -> list[int]:
    """The sizes these languages take, their own limit among them where that is lower."""
    limit = case.most_bytes
    return [size for size in SIZES if size <= limit] + ([limit] if limit < SIZES[-1] else [])


@every(adapters() + pairs())
def test_frames_arrive_whole_and_in_order(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    for first in range(0, 200, 10):
        assert meeting.sender.send("out", first, 10, 100)["accepted"] == 10
        assert seqs(received(meeting.receivers[0], "in0", 10)) == list(range(first, first + 10))
    assert dict(meeting.receivers[0].tell(do="facts")).get("path"), "it does not say which way the frames came"


@every(adapters() + pairs())
def test_every_size_arrives_whole(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case, frame_bytes=64 + max(sizes(case)))
    for seq, size in enumerate(sizes(case)):
        seen = _while_receiving(meeting, seq, size)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]


TYPED = [case for case in adapters() + pairs() if case.manifest.carriage == "typed"]


@every(TYPED)
def test_images_of_typed_transports_arrive_whole(case: Case, theatre: Theatre) -> None:
    rows = min(240, case.most_bytes // (3 * 320))
    size = 3 * 320 * rows
    meeting = meet(theatre, case, frame_bytes=64 + size, payload=f"image:320x{rows}")
    for seq in range(5):
        seen = _while_receiving(meeting, seq, size)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]


def _while_receiving(meeting: Meeting, seq: int, size: int) -> list[dict[str, Any]]:
    """Sends while the other side receives: a socket's buffer may be smaller than a frame."""
    sender, receiver = meeting.sender, meeting.receivers[0]
    if sender is receiver:
        sender.send("out", seq, 1, size)
        return received(receiver, "in0", 1)
    receiver.begin(do="receive", name="in0", count=1, within_ms=10_000)
    assert sender.send("out", seq, 1, size)["accepted"] == 1, f"{size} bytes were refused"
    return behind_probes(receiver, "in0", receiver.finish()["frames"])


@every(adapters())
def test_payloads_of_the_caller_arrive_whole(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    assert meeting.sender.send("out", 0, 5, 7000, parts=True)["accepted"] == 5
    assert seqs(received(meeting.receivers[0], "in0", 5)) == [0, 1, 2, 3, 4]


@every(adapters())
def test_many_topics_do_not_mix(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    sender, receiver = meeting.sender, meeting.receivers[0]
    topics = range(1, 24)
    for topic in topics:
        link = sender.open("publisher", f"out{topic}", theatre.link())
        receiver.open("subscriber", f"topic{topic}", link)
    for topic in topics:
        _await_topic(sender, receiver, topic)
    for topic in topics:
        assert sender.send(f"out{topic}", 1000 * topic, 3, 50)["accepted"] == 3
    for topic in topics:
        assert seqs(received(receiver, f"topic{topic}", 3)) == [1000 * topic + step for step in range(3)]


def _await_topic(sender: Puppet, receiver: Puppet, topic: int) -> None:
    deadline, probes = time.monotonic() + 20, count(PROBE_SEQ)
    while time.monotonic() < deadline:
        sender.send(f"out{topic}", probe := next(probes), 1, 8)
        seen = receiver.receive(f"topic{topic}", 1, within_ms=100)
        if seen:
            while seen and seen[0].get("seq") != probe:  # behind the last one there is none
                seen = receiver.receive(f"topic{topic}", 1, within_ms=30)
            return
    raise AssertionError(f"topic {topic} delivered nothing")


@every(adapters())
def test_every_receiver_gets_every_frame(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case, receivers=3)
    assert meeting.sender.send("out", 0, 8, 500)["accepted"] == 8
    for index, receiver in enumerate(meeting.receivers):
        assert seqs(received(receiver, f"in{index}", 8)) == list(range(8))


@every(adapters())
def test_a_late_joiner_gets_what_is_sent_from_then_on(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    meeting.sender.send("out", 0, 5, 100)
    assert seqs(received(meeting.receivers[0], "in0", 5)) == list(range(5))
    late = meeting.sender if case.one_process else theatre.puppet(case.manifest, case.receiver, case.wait)
    late.open("subscriber", "in1", meeting.link)
    meeting.receivers.append(late)
    prove(meeting, 1)
    catch_up(meeting)
    assert meeting.sender.send("out", 100, 5, 100)["accepted"] == 5
    assert seqs(received(late, "in1", 5)) == list(range(100, 105))
    assert seqs(received(meeting.receivers[0], "in0", 5)) == list(range(100, 105))


@every([case for case in adapters() if not case.one_process])
def test_a_killed_receiver_does_not_stop_the_others(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case, receivers=2)
    meeting.receivers[1].kill()
    got: list[int] = []
    for seq in range(200):
        assert meeting.sender.send("out", seq, 1, 2000)["accepted"] == 1, f"frame {seq} was refused for good"
        got += seqs(received(meeting.receivers[0], "in0", 1))
    assert got == list(range(200))


@every([case for case in adapters() if not case.one_process])
def test_a_killed_sender_leaves_receivers_that_close(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    meeting.sender.send("out", 0, 1, 100)
    assert seqs(received(meeting.receivers[0], "in0", 1)) == [0]
    meeting.sender.kill()
    try:
        assert seqs(meeting.receivers[0].receive("in0", 1, within_ms=300)) == []
    except PuppetError as told:  # an adapter may also say that its peer is gone
        assert "gone" in str(told) or "clos" in str(told), told
    meeting.receivers[0].close_end("in0")


@every(adapters())
def test_a_full_transport_says_busy_or_drops_but_never_mangles_or_hangs(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case, patient=False)
    sent = meeting.sender.send("out", 0, 3000, 20_000, within_ms=0)
    seen = seqs(meeting.receivers[0].receive("in0", sent["accepted"], within_ms=1500))
    assert seen == sorted(set(seen)), "frames came twice or out of order"
    assert 0 < len(seen) <= sent["accepted"] + 1
    drain(meeting)
    prove(meeting)


@every([case for case in adapters() if case.wait != "callback"])
def test_a_relay_forwards_frames_unaltered(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    relay = meeting.receivers[0]
    onward = relay.open("publisher", "onward", theatre.link())
    last = relay if case.one_process else theatre.puppet(case.manifest, case.receiver, case.wait)
    last.open("subscriber", "end", onward)
    deadline = time.monotonic() + 20
    arrived: list[dict[str, object]] = []
    while not arrived and time.monotonic() < deadline:
        meeting.sender.send("out", 7, 1, 30_000)
        relay.tell(do="forward", **{"from": "in0"}, to="onward", count=1, within_ms=500)
        arrived = frames(last.receive("end", 1, within_ms=200))
    assert arrived and arrived[0] == {"seq": 7, "payload_bytes": 30_000, "whole": True}


# A Python object is kept by its reference: there is nothing to ask for.
KEEPS = [case for case in adapters() if case.sender != "python" and case.manifest.offers[case.sender].keep]


@every([case for case in KEEPS if case.wait != "callback"])
def test_a_kept_frame_stays_what_it_was(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    meeting.sender.send("out", 0, 4, 5000)
    kept = meeting.receivers[0].tell(do="keep", name="in0", within_ms=5000)
    assert kept["came"] >= 2, "no frame came that could have changed the kept one"
    assert kept["whole"]
