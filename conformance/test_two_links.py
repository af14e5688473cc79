"""Test a process with two concurrent links that differ in payload, frame size and wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.cases import READY, Case, for_each, settings_cases
from conformance.connection import await_topic, receive_frames, send_while_receiving
from conformance.node_pool import NodePool
from conformance.scripted_node import ScriptedNode
from conformance.test_rpc import NATIVE, call, call_until_answered, discard_calls
from hopmeter.model import units

WIDTH, MOST_ROWS = 320, 240
ROW_BYTES = 3 * WIDTH


@dataclass(frozen=True)
class Kind:
    """The properties in which the two links differ."""

    name: str
    payload: str
    payload_bytes: int
    wait: str

    def link(self, pool: NodePool) -> dict[str, Any]:
        """Return a new link of this kind."""
        of_kind = {"payload": units.payload(self.payload), "frame_bytes": 64 + self.payload_bytes, "wait": self.wait}
        return {**pool.link(), **of_kind}


def two_kinds(case: Case) -> tuple[Kind, Kind]:
    """Return the smallest message with the adapter's first wait, and an image with its last wait."""
    rows = min(MOST_ROWS, case.max_bytes // ROW_BYTES)
    waits = case.manifest.offers[case.sender].waits
    small = Kind("small", "timing", 0, waits[0])
    return small, Kind("large", f"image:{WIDTH}x{rows}", rows * ROW_BYTES, waits[-1])


def cases(pattern: str = "pubsub") -> list[Case]:
    """Return a case for every adapter. Adapters with typed carriage have a case for each setting, because settings may
    select other message types."""
    own = [
        Case(manifest, language, language, manifest.offers[language].waits[0])
        for manifest, language in READY
        if pattern in manifest.offers[language].patterns
    ]
    alone = [case for case in settings_cases(pattern) if case.manifest.carriage == "typed" and case.default_end is None]
    return own + [case for case in alone if case.sender == case.receiver]


def start_nodes(pool: NodePool, case: Case) -> tuple[ScriptedNode, ScriptedNode]:
    """Return the nodes of the sender and the receiver, which may be the same node."""
    start = {"frame_bytes": 64 + max(kind.payload_bytes for kind in two_kinds(case)), **case.settings("sender")}
    sender = pool.node(case.manifest, case.sender, case.wait, **start)
    return sender, sender if case.one_process else pool.node(case.manifest, case.sender, case.wait, **start)


@for_each(cases())
def test_two_links_of_one_process_carry_frames_of_their_own_kind(case: Case, pool: NodePool) -> None:
    (small, large), (sender, receiver) = two_kinds(case), start_nodes(pool, case)
    for kind in (small, large):
        link = sender.open("publisher", f"out-{kind.name}", kind.link(pool))
        receiver.open("subscriber", f"in-{kind.name}", link)
    for kind in (small, large):
        await_topic(sender, receiver, (f"out-{kind.name}", f"in-{kind.name}"), kind.payload_bytes)
    for seq in range(5):
        assert sender.send("out-small", seq, 1, small.payload_bytes)["accepted"] == 1
        seen = send_while_receiving(sender, receiver, ("out-large", "in-large"), seq, large.payload_bytes)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, large.payload_bytes)]
        seen = receive_frames(receiver, "in-small", 1)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, small.payload_bytes)]


@for_each([case for case in cases("rpc") if case.manifest.name in NATIVE])
def test_two_links_of_one_process_answer_calls_of_their_own_kind(case: Case, pool: NodePool) -> None:
    kinds, (client, server) = two_kinds(case), start_nodes(pool, case)
    # Servers are opened first: an endpoint that opens a server after a client would be a relay, which some adapters
    # reject.
    links = [server.open("server", f"answer-{kind.name}", kind.link(pool)) for kind in kinds]
    for kind, link in zip(kinds, links, strict=True):
        client.open("client", f"ask-{kind.name}", link)
    for kind in kinds:
        if call_until_answered(client, server, f"-{kind.name}", kind.payload_bytes) > 1:
            discard_calls(client, server, f"-{kind.name}")
    for seq in range(5):
        for kind in kinds:
            replies = call(client, server, seq, kind.payload_bytes, link=f"-{kind.name}")
            assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, kind.payload_bytes)]
