"""Every client and server of transports with calls of their own: content, order, sizes, many calls."""

from __future__ import annotations

import contextlib
import time
from itertools import count
from typing import Any

from conformance.cases import READY, Case, adapters, chosen, every, pairs
from conformance.census import grows_not
from conformance.meeting import PROBE_SEQ, frames, seqs
from conformance.puppet import Puppet, PuppetError
from conformance.theatre import Theatre

NATIVE = {manifest.name for manifest, _ in READY if manifest.rpc == "native"}


def calls() -> list[Case]:
    """Adapters and pairs with native rpc."""
    return [case for case in adapters("rpc") + pairs("rpc") if case.manifest.name in NATIVE]


def connect(theatre: Theatre, case: Case) -> tuple[Puppet, Puppet]:
    """A client `ask` and a server `answer` that have found each other."""
    given = case.settings("receiver")
    server = theatre.puppet(case.manifest, case.receiver, case.wait, frame_bytes=64 + (1 << 20), **given)
    link = server.open("server", "answer", theatre.link())
    client = server if case.one_process else asking(theatre, case)
    client.open("client", "ask", link)
    if reached(client, server) > 1:
        empty(client, server)
    return client, server


def asking(theatre: Theatre, case: Case) -> Puppet:
    """A process for a client."""
    waits = case.manifest.offers[case.sender].waits
    wait = case.wait if case.wait in waits else waits[0]
    return theatre.puppet(case.manifest, case.sender, wait, **case.settings("sender"))


def reached(client: Puppet, server: Puppet) -> int:
    """Proves by calls that the client reaches the server; answers how many that took."""
    deadline = time.monotonic() + 20
    for calls in count(1):
        if call(client, server, PROBE_SEQ + calls, 8, patience_ms=200):
            return calls
        assert time.monotonic() < deadline, "no call came through within 20 s"
    raise AssertionError


def empty(client: Puppet, server: Puppet) -> None:
    """Takes what other clients, or calls that were given up, have left."""
    server.tell(do="serve", name="answer", count=100, within_ms=100)
    while client.receive("ask", 1, within_ms=100):
        pass


def call(client: Puppet, server: Puppet, seq: int, payload_bytes: int, patience_ms: int = 5000) -> list[dict[str, Any]]:
    """One call; answers the reply, if it came. No step waits for the one before: a large frame that is sent without
    queues leaves only while the other end reads."""
    client.begin_sending("ask", seq, 1, payload_bytes)
    server.begin(do="serve", name="answer", count=1, within_ms=patience_ms)
    client.finish()
    replies = reply_to(client, server, patience_ms)
    while replies and all(PROBE_SEQ <= reply["seq"] != seq for reply in replies):
        # To a probe that was given up too early: it was served, or answered, in this call's place.
        server.begin(do="serve", name="answer", count=1, within_ms=100)
        replies = reply_to(client, server, patience_ms)
    return replies


def reply_to(client: Puppet, server: Puppet, patience_ms: int) -> list[dict[str, Any]]:
    """What the client gets while the server serves."""
    client.begin(do="receive", name="ask", count=1, within_ms=patience_ms)
    server.finish()
    return frames_of_calls(client.finish()["frames"])


def frames_of_calls(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was seen, all of it whole."""
    for frame in seen:
        assert frame.get("whole"), f"a frame arrived with other content: {frame}"
    return seen


@every(calls())
def test_replies_carry_what_was_asked(case: Case, theatre: Theatre) -> None:
    client, server = connect(theatre, case)
    for seq, size in enumerate(size for size in [0, 1, 64, 1000, 65_536, 1 << 20] if size <= case.most_bytes):
        replies = call(client, server, seq, size)
        assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, size)]


@chosen(calls())
def test_many_calls_are_answered_each_once(case: Case, theatre: Theatre) -> None:
    client, server = connect(theatre, case)
    for seq in range(100):
        assert [reply["seq"] for reply in call(client, server, seq, 100)] == [seq]
    assert seqs(frames(client.receive("ask", 1, within_ms=100))) == []


def meet(client: Puppet, server: Puppet, link: dict[str, Any]) -> None:
    """Lets a client reach a server that others have called before."""
    client.open("client", "ask", link)
    reached(client, server)
    empty(client, server)


@chosen([case for case in calls() if not case.one_process])
def test_a_killed_client_does_not_stop_the_server(case: Case, theatre: Theatre) -> None:
    server = theatre.puppet(case.manifest, case.receiver, case.wait)
    link = server.open("server", "answer", theatre.link())
    for _ in range(2):
        client = asking(theatre, case)
        meet(client, server, link)
        client.send("ask", 0, 1, 2000)
        client.kill()
    last = asking(theatre, case)
    meet(last, server, link)
    for seq in range(20):
        assert [reply["seq"] for reply in call(last, server, seq, 2000)] == [seq]


@chosen([case for case in calls() if not case.one_process])
def test_a_killed_server_leaves_a_client_that_closes(case: Case, theatre: Theatre) -> None:
    client, server = connect(theatre, case)
    server.kill()
    with contextlib.suppress(PuppetError):  # an adapter may also say that its peer is gone
        client.send("ask", 0, 1, 100, within_ms=300)
        assert seqs(client.receive("ask", 1, within_ms=300)) == []
    client.close_end("ask")


@chosen(calls())
def test_calls_that_close_leave_nothing(case: Case, theatre: Theatre) -> None:
    client, server = connect(theatre, case)

    def once() -> None:
        link = server.open("server", "brief", theatre.link())
        client.open("client", "short", link)
        client.send("short", 0, 1, 100, within_ms=500)
        server.tell(do="serve", name="brief", count=1, within_ms=200)
        client.receive("short", 1, within_ms=200)
        client.close_end("short")
        server.close_end("brief")

    grows_not([client, server], once)
