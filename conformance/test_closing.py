"""Closing is certain: ends that are closed leave no thread, no descriptor, no segment, no file."""

from __future__ import annotations

from pathlib import Path

from conformance.cases import Case, adapters, every
from conformance.census import grows_not
from conformance.meeting import meet, received, seqs
from conformance.theatre import Theatre

SHARED_MEMORY = Path("/dev/shm")


@every(adapters())
def test_ends_that_close_leave_nothing(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    receiver, sender = meeting.receivers[0], meeting.sender

    def once() -> None:
        link = sender.open("publisher", "brief", theatre.link())
        receiver.open("subscriber", "short", link)
        sender.send("brief", 0, 1, 100)
        receiver.receive("short", 1, within_ms=50)
        receiver.close_end("short")
        sender.close_end("brief")

    grows_not([sender, receiver], once)


@every(adapters())
def test_a_process_that_ends_leaves_no_file_and_no_segment(case: Case, theatre: Theatre) -> None:
    meeting = meet(theatre, case)
    meeting.sender.send("out", 0, 3, 100_000)
    assert seqs(received(meeting.receivers[0], "in0", 3)) == [0, 1, 2]
    theatre.end()
    ours = [path for path in SHARED_MEMORY.iterdir() if theatre.run in path.name]
    assert ours == [], f"segments are left behind: {ours}"
    sockets = [path for path in Path(theatre.folder).rglob("*") if path.is_socket()]
    assert sockets == [], f"socket files are left behind: {sockets}"
