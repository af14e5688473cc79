"""Connect nodes so that frames from one node arrive at the others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from conformance.cases import Case
from conformance.node_pool import NodePool
from conformance.scripted_node import ScriptedNode

PROBE_SEQ = 1 << 40
"""The lowest sequence number of probes, which only test whether a link delivers."""

PROBES_IN_A_ROW = 5
"""The number of consecutive probes that must arrive before a link counts as connected."""


@dataclass
class Connection:
    """A publisher `out` and subscribers `in0`, `in1`, … on a link that delivers."""

    sender: ScriptedNode
    receivers: list[ScriptedNode]
    link: dict[str, Any]
    probes: count[int] = field(default_factory=lambda: count(PROBE_SEQ))
    sent: int = 0
    """The number of the last probe sent."""
    seen: dict[int, int] = field(default_factory=dict)
    """The number of the last probe that each receiver received, by receiver index."""


def connect(
    pool: NodePool, case: Case, receivers: int = 1, frame_bytes: int = 64 + (1 << 20), **given: Any
) -> Connection:
    """Open both sides of a new link, and wait until the link delivers."""
    start = dict(frame_bytes=frame_bytes, **given)
    wait = case.wait if case.one_process else _wait(case)
    host = case.hosts.get("sender")
    sender = pool.node(case.manifest, case.sender, wait, host=host, **start, **case.settings("sender"))
    link = sender.open("publisher", "out", pool.link(receivers))
    others = [sender if case.one_process else _receiver(pool, case, start) for _ in range(receivers)]
    for index, other in enumerate(others):
        other.open("subscriber", f"in{index}", link)
    connection = Connection(sender, others, link)
    for index in range(receivers):
        prove(connection, index)
    catch_up(connection)
    settle(connection)
    return connection


def _wait(case: Case) -> str:
    waits = case.manifest.offers[case.sender].waits
    return case.wait if case.wait in waits else waits[0]


def _receiver(pool: NodePool, case: Case, start: dict[str, Any]) -> ScriptedNode:
    host = case.hosts.get("receiver")
    return pool.node(case.manifest, case.receiver, case.wait, host=host, **start, **case.settings("receiver"))


def prove(connection: Connection, index: int = 0, patience_s: float = 20) -> None:
    """Send probes until the receiver with the given index receives a probe. Fails the test after a timeout."""
    deadline = time.monotonic() + patience_s
    for probe in connection.probes:
        connection.sender.send("out", probe, 1, 8)
        connection.sent = probe
        if _receives(connection, index, within_ms=100):
            return
        assert time.monotonic() < deadline, f"receiver {index} saw no frame within {patience_s} s"


def settle(connection: Connection, patience_s: float = 20) -> None:
    """Send probes until several consecutive probes have reached all receivers. A library may drop messages of a link
    that has already delivered others, until the library knows all subscriptions."""
    deadline, row = time.monotonic() + patience_s, 0
    while row < PROBES_IN_A_ROW:
        assert time.monotonic() < deadline, f"no {PROBES_IN_A_ROW} frames in a row arrived in {patience_s} s"
        connection.sent = next(connection.probes)
        connection.sender.send("out", connection.sent, 1, 8)
        catch_up(connection)
        row = row + 1 if set(connection.seen.values()) == {connection.sent} else 0


def catch_up(connection: Connection) -> None:
    """Receive the probes in transit, until the last probe arrives or no probe arrives for a while."""
    for index in range(len(connection.receivers)):
        while connection.seen.get(index) != connection.sent and _receives(connection, index, within_ms=60):
            pass


def _receives(connection: Connection, index: int, within_ms: int) -> bool:
    """Return whether a receiver receives a frame within the time limit."""
    seen = connection.receivers[index].receive(f"in{index}", 1, within_ms)
    for frame in seen:
        connection.seen[index] = frame.get("seq", 0)  # a corrupt frame has no number
    return bool(seen)


def await_topic(sender: ScriptedNode, receiver: ScriptedNode, ends: tuple[str, str], payload_bytes: int = 8) -> None:
    """Send probes from the first of two link ends until the second has received the last probe."""
    (out, into), deadline = ends, time.monotonic() + 20
    for probe in count(PROBE_SEQ):
        sender.send(out, probe, 1, payload_bytes)
        seen = receiver.receive(into, 1, within_ms=100)
        if seen:
            while seen and seen[0].get("seq") != probe:
                seen = receiver.receive(into, 1, within_ms=30)
            return
        assert time.monotonic() < deadline, f"{into} received nothing"


def send_while_receiving(
    sender: ScriptedNode, receiver: ScriptedNode, ends: tuple[str, str], seq: int, size: int
) -> list[dict[str, Any]]:
    """Send a frame while the other side receives, because a frame may exceed the socket buffer. Return the received
    frames."""
    return send_frames_while_receiving(sender, receiver, ends, [(seq, size)])


def send_frames_while_receiving(
    sender: ScriptedNode, receiver: ScriptedNode, ends: tuple[str, str], to_send: Sequence[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Send several frames, given as pairs of number and size, in the same way as `send_while_receiving`."""
    out, into = ends
    if sender is not receiver:
        receiver.begin(do="receive", name=into, count=len(to_send), within_ms=10_000)
    for seq, size in to_send:
        assert sender.send(out, seq, 1, size)["accepted"] == 1, f"{size} bytes were refused"
    if sender is receiver:
        return receive_frames(receiver, into, len(to_send))
    return replace_probes(receiver, into, receiver.finish()["frames"])


def drain(connection: Connection) -> None:
    """Receive and discard all frames in transit."""
    for index, receiver in enumerate(connection.receivers):
        while receiver.receive(f"in{index}", 1, within_ms=60):
            pass


def frames(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the received frames without late probes. Fails the test if a frame was altered."""
    for frame in seen:
        assert "refused" not in frame, f"the transport mangled a frame: {frame['refused']}"
        assert frame["whole"], f"frame {frame['seq']} of {frame['payload_bytes']} bytes arrived with altered content"
    return [frame for frame in seen if frame["seq"] < PROBE_SEQ]


def receive_frames(receiver: ScriptedNode, name: str, count: int, within_ms: int = 10_000) -> list[dict[str, Any]]:
    """Receive `count` frames in addition to late probes."""
    return replace_probes(receiver, name, receiver.receive(name, count, within_ms))


def receive_rest(receiver: ScriptedNode, name: str, most: int) -> list[dict[str, Any]]:
    """Receive frames in transit until `most` frames have arrived or no frame arrives for a while."""
    seen = receiver.receive(name, 1, within_ms=1500)
    while len(seen) < most and (more := receiver.receive(name, most - len(seen), within_ms=150)):
        seen += more
    return seen


def replace_probes(receiver: ScriptedNode, name: str, seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace each late probe with another received frame, because a probe that seemed lost may still arrive on a busy
    machine."""
    found = frames(seen)
    while late := len(seen) - len(frames(seen)):
        seen = receiver.receive(name, late)
        found += frames(seen)
    return found


def seqs(seen: list[dict[str, Any]]) -> list[int]:
    """Return the sequence numbers of the received frames, in order of arrival."""
    return [frame["seq"] for frame in frames(seen)]
