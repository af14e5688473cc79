"""Test every client and server of transports with native calls: content, order, sizes, many calls."""

from __future__ import annotations

import contextlib
import time
from itertools import count
from typing import Any

from conformance.cases import READY, Case, adapters, for_each, for_first_wait, for_ring, language_pairs
from conformance.connection import PROBE_SEQ, frames, seqs
from conformance.node_pool import NodePool
from conformance.resource_count import assert_no_growth
from conformance.scripted_node import NodeError, ScriptedNode
from conformance.test_pubsub import VARYING

NATIVE = {manifest.name for manifest, _ in READY if manifest.rpc == "native"}


def rpc_cases() -> list[Case]:
    """Return the cases for adapters and language pairs with native calls (`rpc`)."""
    return [case for case in adapters("rpc") + language_pairs("rpc") if case.manifest.name in NATIVE]


def connect_call(pool: NodePool, case: Case) -> tuple[ScriptedNode, ScriptedNode]:
    """Return a client `ask` that can reach a server `answer`."""
    given, host = case.settings("receiver"), case.hosts.get("receiver")
    server = pool.node(case.manifest, case.receiver, case.wait, host=host, **given)
    link = server.open("server", "answer", pool.link())
    client = server if case.one_process else start_client(pool, case)
    client.open("client", "ask", link)
    if call_until_answered(client, server) > 1:
        discard_calls(client, server)
    return client, server


def start_client(pool: NodePool, case: Case) -> ScriptedNode:
    waits = case.manifest.offers[case.sender].waits
    wait = case.wait if case.wait in waits else waits[0]
    return pool.node(case.manifest, case.sender, wait, host=case.hosts.get("sender"), **case.settings("sender"))


def call_until_answered(client: ScriptedNode, server: ScriptedNode, link: str = "", payload_bytes: int = 8) -> int:
    """Call until the server answers, and return the number of calls."""
    deadline = time.monotonic() + 20
    for calls in count(1):
        if call(client, server, PROBE_SEQ + calls, payload_bytes, patience_ms=200, link=link):
            return calls
        assert time.monotonic() < deadline, "no call succeeded within 20 s"
    raise AssertionError


def discard_calls(client: ScriptedNode, server: ScriptedNode, link: str = "") -> None:
    """Receive and discard calls and replies that other clients or abandoned calls have left."""
    server.execute(do="serve", name=f"answer{link}", count=100, within_ms=100)
    while client.receive(f"ask{link}", 1, within_ms=100):
        pass


def call(
    client: ScriptedNode, server: ScriptedNode, seq: int, payload_bytes: int, patience_ms: int = 5000, link: str = ""
) -> list[dict[str, Any]]:
    """Make one call from `ask` to `answer`, and return its reply if one arrived.

    Both sides run concurrently, because a transport without queues sends a large frame only while the other side reads.
    `link` is appended to the names of both link ends.
    """
    client.begin_sending(f"ask{link}", seq, 1, payload_bytes)
    server.begin(do="serve", name=f"answer{link}", count=1, within_ms=patience_ms)
    client.finish()
    replies = reply_to(client, server, patience_ms, link)
    while replies and all(PROBE_SEQ <= reply["seq"] != seq for reply in replies):
        # The reply belongs to an abandoned probe that the server handled first.
        server.begin(do="serve", name=f"answer{link}", count=1, within_ms=100)
        replies = reply_to(client, server, patience_ms, link)
    return replies


def reply_to(client: ScriptedNode, server: ScriptedNode, patience_ms: int, link: str = "") -> list[dict[str, Any]]:
    """Return the replies that the client receives while the server serves."""
    client.begin(do="receive", name=f"ask{link}", count=1, within_ms=patience_ms)
    server.finish()
    return whole_frames(client.finish()["frames"])


def whole_frames(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the received frames. Fails the test if a frame was altered."""
    for frame in seen:
        assert frame.get("whole"), f"a frame arrived with other content: {frame}"
    return seen


@for_each(rpc_cases())
def test_replies_carry_what_was_asked(case: Case, pool: NodePool) -> None:
    client, server = connect_call(pool, case)
    for seq, size in enumerate(size for size in [0, 1, 64, 1000, 65_536, 1 << 20] if size <= case.max_bytes):
        replies = call(client, server, seq, size)
        assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, size)]


@for_first_wait([case for case in rpc_cases() if case.manifest.varying_sizes])
def test_sizes_may_vary_from_call_to_call(case: Case, pool: NodePool) -> None:
    client, server = connect_call(pool, case)
    for seq, size in enumerate(case.limit(size) for size in VARYING):
        replies = call(client, server, seq, size)
        assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, size)]


@for_ring(rpc_cases())
def test_many_calls_are_answered_each_once(case: Case, pool: NodePool) -> None:
    client, server = connect_call(pool, case)
    for seq in range(100):
        assert [reply["seq"] for reply in call(client, server, seq, 100)] == [seq]
    assert seqs(frames(client.receive("ask", 1, within_ms=100))) == []


def open_client(client: ScriptedNode, server: ScriptedNode, link: dict[str, Any]) -> None:
    """Connect a client to a server that other clients have called before."""
    client.open("client", "ask", link)
    call_until_answered(client, server)
    discard_calls(client, server)


@for_first_wait([case for case in rpc_cases() if not case.one_process])
def test_a_killed_client_does_not_stop_the_server(case: Case, pool: NodePool) -> None:
    server = pool.node(case.manifest, case.receiver, case.wait)
    link = server.open("server", "answer", pool.link())
    for _ in range(2):
        client = start_client(pool, case)
        open_client(client, server, link)
        client.send("ask", 0, 1, 2000)
        client.kill()
    last = start_client(pool, case)
    open_client(last, server, link)
    for seq in range(20):
        assert [reply["seq"] for reply in call(last, server, seq, 2000)] == [seq]


@for_ring([case for case in rpc_cases() if not case.one_process])
def test_a_killed_server_leaves_a_client_that_closes(case: Case, pool: NodePool) -> None:
    client, server = connect_call(pool, case)
    server.kill()
    with contextlib.suppress(NodeError):  # an adapter may also report that its peer has disconnected
        client.send("ask", 0, 1, 100, within_ms=300)
        assert seqs(client.receive("ask", 1, within_ms=300)) == []
    client.close_end("ask")


@for_ring(rpc_cases())
def test_calls_that_close_leave_nothing(case: Case, pool: NodePool) -> None:
    client, server = connect_call(pool, case)

    def once() -> None:
        link = server.open("server", "brief", pool.link())
        client.open("client", "short", link)
        client.send("short", 0, 1, 100, within_ms=500)
        server.execute(do="serve", name="brief", count=1, within_ms=200)
        client.receive("short", 1, within_ms=200)
        client.close_end("short")
        server.close_end("brief")

    assert_no_growth([client, server], once)
