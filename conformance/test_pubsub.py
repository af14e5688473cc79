"""Test every publisher and subscriber: content, order, sizes, many topics, late joiners, dead peers, busy
transports."""

from __future__ import annotations

import time
from typing import Any

from conformance.cases import Case, adapters, for_each, for_first_wait, for_ring, language_pairs
from conformance.connection import (
    Connection,
    await_topic,
    catch_up,
    connect,
    drain,
    frames,
    prove,
    receive_frames,
    receive_rest,
    send_frames_while_receiving,
    send_while_receiving,
    seqs,
)
from conformance.node_pool import NodePool
from conformance.scripted_node import NodeError, ScriptedNode

SIZES = [0, 1, 7, 63, 64, 65, 1000, 4096, 65_535, 65_536, 1 << 20, (1 << 24) - 1, 1 << 24]
"""Payload sizes in bytes, up to 16 MiB; a manifest may have a lower limit."""


def sizes(case: Case) -> list[int]:
    """Return the payload sizes that both languages support, including the largest supported size."""
    limit = case.max_bytes
    return [size for size in SIZES if size <= limit] + ([limit] if limit < SIZES[-1] else [])


@for_each(adapters() + language_pairs())
def test_frames_arrive_whole_and_in_order(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case)
    for first in range(0, 200, 10):
        assert connection.sender.send("out", first, 10, 100)["accepted"] == 10
        assert seqs(receive_frames(connection.receivers[0], "in0", 10)) == list(range(first, first + 10))
    assert dict(connection.receivers[0].execute(do="facts")).get("path"), (
        "the receiver does not report the path of the frames"
    )


@for_ring(adapters() + language_pairs())
def test_every_size_arrives_whole(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, frame_bytes=64 + max(sizes(case)))
    for seq, size in enumerate(sizes(case)):
        seen = _while_receiving(connection, seq, size)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]


VARYING = [60_000, 1, 0, 30_000, 59_999, 63, 7, 60_000, 64, 1000, 2, 20_000]
"""Payload sizes in bytes for frames that are sent three at once; neighbouring sizes differ."""
VARIABLE = [case for case in adapters() + language_pairs() if case.manifest.varying_sizes]


@for_first_wait(VARIABLE)
def test_sizes_may_vary_from_frame_to_frame(case: Case, pool: NodePool) -> None:
    sizes = [case.limit(size) for size in VARYING]
    connection = connect(pool, case, frame_bytes=64 + max(sizes))
    for first in range(0, len(sizes), 3):
        expected = list(enumerate(sizes[first : first + 3], first))
        seen = send_frames_while_receiving(connection.sender, connection.receivers[0], ("out", "in0"), expected)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == expected


TYPED = [case for case in adapters() + language_pairs() if case.manifest.carriage == "typed"]


@for_first_wait(TYPED)
def test_images_of_typed_transports_arrive_whole(case: Case, pool: NodePool) -> None:
    rows = min(240, case.max_bytes // (3 * 320))
    size = 3 * 320 * rows
    connection = connect(pool, case, frame_bytes=64 + size, payload=f"image:320x{rows}")
    for seq in range(5):
        seen = _while_receiving(connection, seq, size)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]


def _while_receiving(connection: Connection, seq: int, size: int) -> list[dict[str, Any]]:
    return send_while_receiving(connection.sender, connection.receivers[0], ("out", "in0"), seq, size)


@for_first_wait(adapters())
def test_payloads_of_the_caller_arrive_whole(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case)
    assert connection.sender.send("out", 0, 5, case.limit(7000), parts=True)["accepted"] == 5
    assert seqs(receive_frames(connection.receivers[0], "in0", 5)) == [0, 1, 2, 3, 4]


@for_first_wait(adapters())
def test_many_topics_do_not_mix(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, frame_bytes=64 + 1000)  # the system may limit the memory of all links
    sender, receiver = connection.sender, connection.receivers[0]
    topics = range(1, 24)
    for topic in topics:
        link = sender.open("publisher", f"out{topic}", pool.link())
        receiver.open("subscriber", f"topic{topic}", link)
    for topic in topics:
        await_topic(sender, receiver, (f"out{topic}", f"topic{topic}"))
    for topic in topics:
        assert sender.send(f"out{topic}", 1000 * topic, 3, 50)["accepted"] == 3
    for topic in topics:
        assert seqs(receive_frames(receiver, f"topic{topic}", 3)) == [1000 * topic + step for step in range(3)]


@for_first_wait(adapters())
def test_every_receiver_gets_every_frame(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, receivers=3)
    assert connection.sender.send("out", 0, 8, 500)["accepted"] == 8
    for index, receiver in enumerate(connection.receivers):
        assert seqs(receive_frames(receiver, f"in{index}", 8)) == list(range(8))


@for_first_wait(adapters())
def test_a_late_joiner_gets_what_is_sent_from_then_on(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case)
    connection.sender.send("out", 0, 5, 100)
    assert seqs(receive_frames(connection.receivers[0], "in0", 5)) == list(range(5))
    late = _late_node(pool, case, connection)
    late.open("subscriber", "in1", connection.link)
    connection.receivers.append(late)
    prove(connection, 1)
    catch_up(connection)
    assert connection.sender.send("out", 100, 5, 100)["accepted"] == 5
    assert seqs(receive_frames(late, "in1", 5)) == list(range(100, 105))
    assert seqs(receive_frames(connection.receivers[0], "in0", 5)) == list(range(100, 105))


def _late_node(pool: NodePool, case: Case, connection: Connection) -> ScriptedNode:
    """Return a new node. If no process can join later, return the sender's node instead."""
    if case.one_process or not case.manifest.late_processes:
        return connection.sender
    return pool.node(case.manifest, case.receiver, case.wait)


@for_first_wait([case for case in adapters() if not case.one_process])
def test_a_killed_receiver_does_not_stop_the_others(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, receivers=2)
    connection.receivers[1].kill()
    got: list[int] = []
    for seq in range(200):
        assert connection.sender.send("out", seq, 1, 2000)["accepted"] == 1, (
            f"the transport rejected frame {seq} for good"
        )
        got += seqs(receive_frames(connection.receivers[0], "in0", 1))
    assert got == list(range(200))


@for_each([case for case in adapters() if not case.one_process])
def test_a_killed_sender_leaves_receivers_that_close(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case)
    connection.sender.send("out", 0, 1, 100)
    assert seqs(receive_frames(connection.receivers[0], "in0", 1)) == [0]
    connection.sender.kill()
    try:
        assert seqs(connection.receivers[0].receive("in0", 1, within_ms=300)) == []
    except NodeError as error:  # an adapter may also report that its peer has disconnected
        assert "gone" in str(error) or "clos" in str(error), error
    connection.receivers[0].close_end("in0")


@for_each(adapters())
def test_a_full_transport_says_busy_or_drops_but_never_mangles_or_hangs(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, blocking=False)
    sent = connection.sender.send("out", 0, 3000, case.limit(20_000), within_ms=0)
    seen = seqs(receive_rest(connection.receivers[0], "in0", sent["accepted"]))
    assert seen == sorted(set(seen)), "frames arrived twice or out of order"
    assert 0 < len(seen) <= sent["accepted"] + 1
    drain(connection)
    prove(connection)


@for_first_wait([case for case in adapters() if case.wait != "callback"])
def test_a_relay_forwards_frames_unaltered(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case)
    relay = connection.receivers[0]
    onward = relay.open("publisher", "onward", pool.link())
    last = relay if case.one_process else _late_node(pool, case, connection)
    last.open("subscriber", "end", onward)
    deadline, size = time.monotonic() + 20, case.limit(30_000)
    arrived: list[dict[str, object]] = []
    while not arrived and time.monotonic() < deadline:
        connection.sender.send("out", 7, 1, size)
        relay.execute(do="forward", **{"from": "in0"}, to="onward", count=1, within_ms=500)
        arrived = frames(last.receive("end", 1, within_ms=200))
    assert arrived and arrived[0] == {"seq": 7, "payload_bytes": size, "whole": True}


# Python is exempt, because a Python object stays valid while it is referenced.
KEEPS = [case for case in adapters() if case.sender != "python" and case.manifest.offers[case.sender].keep]


@for_each([case for case in KEEPS if case.wait != "callback"])
def test_a_kept_frame_stays_what_it_was(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case)
    connection.sender.send("out", 0, 4, 5000)
    kept = connection.receivers[0].execute(do="keep", name="in0", within_ms=5000)
    assert kept["came"] >= 2, "no frame arrived that could have overwritten the retained one"
    assert kept["whole"]
