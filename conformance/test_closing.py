"""Closed link ends must leave no thread, file descriptor, segment or file behind."""

from __future__ import annotations

from pathlib import Path

from conformance.cases import Case, adapters, for_each
from conformance.connection import connect, send_frames_while_receiving, seqs
from conformance.node_pool import NodePool
from conformance.resource_count import assert_no_growth


@for_each(adapters())
def test_ends_that_close_leave_nothing(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case)
    receiver, sender = connection.receivers[0], connection.sender

    def once() -> None:
        link = sender.open("publisher", "brief", pool.link())
        receiver.open("subscriber", "short", link)
        sender.send("brief", 0, 1, 100)
        receiver.receive("short", 1, within_ms=50)
        receiver.close_end("short")
        sender.close_end("brief")

    assert_no_growth([sender, receiver], once)


@for_each(adapters())
def test_a_process_that_ends_leaves_no_file_and_no_segment(case: Case, pool: NodePool) -> None:
    connection = connect(pool, case)
    to_send = [(seq, case.limit(100_000)) for seq in range(3)]
    seen = send_frames_while_receiving(connection.sender, connection.receivers[0], ("out", "in0"), to_send)
    assert seqs(seen) == [0, 1, 2]
    pool.end()
    assert pool.stuck == [], "nodes did not end after their channel was closed"
    leaks = pool.watch.leaks()
    assert leaks == [], f"left outside the test's folder: {leaks}"
    sockets = [path for path in Path(pool.folder).rglob("*") if path.is_socket()]
    assert sockets == [], f"socket files are left behind: {sockets}"
