"""A receiver or client gets no frames if it does not trust the keys of its peer or of the broker."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from conformance.cases import Case, for_each, settings_cases
from conformance.connection import Connection, connect, receive_frames, seqs
from conformance.node_pool import NodePool
from conformance.scripted_node import NodeError, ScriptedNode
from hopmeter.manifest.tables.setting import OFF, SECURITY


def secured_cases(pattern: str) -> list[Case]:
    """Return one encrypted case for each adapter that has an encrypted case."""
    cases = [case for case in settings_cases(pattern) if case.overrides.get(SECURITY, OFF) != OFF]
    return list({(case.manifest.name, case.receiver): case for case in reversed(cases)}.values())


SECURED = secured_cases("pubsub")
SECURED_CALLS = [case for case in secured_cases("rpc") if "pubsub" not in case.manifest.patterns]
"""The cases of the transports that support only calls."""
FRAMES = 20
FRAME_BYTES = 64 + 100
"""The largest frame in bytes. The limit is small, but must leave room for the messages of the library's handshake."""
PAUSE_S = 0.05
"""The time between two frames. If a receiver has the right keys, its subscription takes effect within 20 pauses."""


@for_each(SECURED)
def test_a_receiver_with_foreign_keys_gets_nothing(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case, frame_bytes=FRAME_BYTES)
    assert seqs_of_late_receiver(pool, case, connection, keys="")
    assert not seqs_of_late_receiver(pool, case, connection, keys="foreign")


def seqs_of_late_receiver(pool: NodePool, case: Case, connection: Connection, keys: str) -> list[int]:
    """Open another receiver of the link, which uses the given keys. Return the sequence numbers that it receives.

    Some libraries report a peer that they do not trust, and others stay silent.
    """
    name, found = f"{keys}late", []
    with contextlib.suppress(NodeError):
        late = pool.node(case.manifest, case.receiver, case.wait, FRAME_BYTES, keys=keys, **case.overrides)
        late.open("subscriber", name, connection.link)
        late.begin(do="receive", name=name, count=1, within_ms=2000)
        exchange(connection)
        found = seqs(late.finish()["frames"])
        late.close_end(name)
    exchange(connection)
    return found


@for_each(SECURED_CALLS)
def test_a_client_with_foreign_keys_gets_no_reply(case: Case, pool: NodePool) -> None:
    server = pool.node(case.manifest, case.receiver, case.wait, **case.overrides)
    link = server.open("server", "answer", pool.link())
    assert seqs_of_replies(pool, case, (server, link), keys="")
    assert not seqs_of_replies(pool, case, (server, link), keys="foreign")


def seqs_of_replies(pool: NodePool, case: Case, serving: tuple[ScriptedNode, dict[str, Any]], keys: str) -> list[int]:
    """Open a client that uses the given keys, and call the server. Return the sequence numbers of the replies."""
    (server, link), found = serving, []
    server.begin(do="serve", name="answer", count=1, within_ms=3000)
    with contextlib.suppress(NodeError):
        client = pool.node(case.manifest, case.sender, case.wait, keys=keys, **case.overrides)
        client.open("client", "ask", link)
        client.send("ask", 1, 1, 100)
        found = seqs(client.receive("ask", 1, within_ms=2000))
        client.close_end("ask")
    server.finish()
    return found


def exchange(connection: Connection) -> None:
    """Send frames, and check that the trusted receiver gets them."""
    for seq in range(1, FRAMES + 1):
        assert connection.sender.send("out", seq, 1, 100)["accepted"] == 1
        assert seqs(receive_frames(connection.receivers[0], "in0", 1)) == [seq]
        time.sleep(PAUSE_S)
