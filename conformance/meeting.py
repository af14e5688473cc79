"""Two puppets that have found each other: frames flow from one to the other."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from conformance.cases import Case
from conformance.puppet import Puppet
from conformance.theatre import Theatre

PROBE_SEQ = 1 << 40
"""Frames from here on only prove that a link delivers."""


@dataclass
class Meeting:
    """A publisher `out` and subscribers `in0`, `in1`, … on one link, proved to deliver."""

    sender: Puppet
    receivers: list[Puppet]
    link: dict[str, Any]
    probes: count[int] = field(default_factory=lambda: count(PROBE_SEQ))
    sent: int = 0
    """The last probe."""
    seen: dict[int, int] = field(default_factory=dict)
    """By receiver, the last probe that it has seen."""


def meet(theatre: Theatre, case: Case, receivers: int = 1, frame_bytes: int = 64 + (1 << 20), **given: Any) -> Meeting:
    """Opens both sides of a new link and proves it by messages."""
    start = dict(frame_bytes=frame_bytes, **given)
    wait = case.wait if case.one_process else _wait(case)
    sender = theatre.puppet(case.manifest, case.sender, wait, **start, **case.settings("sender"))
    link = sender.open("publisher", "out", theatre.link(receivers))
    others = [sender if case.one_process else _receiver(theatre, case, start) for _ in range(receivers)]
    for index, other in enumerate(others):
        other.open("subscriber", f"in{index}", link)
    meeting = Meeting(sender, others, link)
    for index in range(receivers):
        prove(meeting, index)
    catch_up(meeting)
    return meeting


def _wait(case: Case) -> str:
    waits = case.manifest.offers[case.sender].waits
    return case.wait if case.wait in waits else waits[0]


def _receiver(theatre: Theatre, case: Case, start: dict[str, Any]) -> Puppet:
    return theatre.puppet(case.manifest, case.receiver, case.wait, **start, **case.settings("receiver"))


def prove(meeting: Meeting, index: int = 0, patience_s: float = 20) -> None:
    """Sends probes until receiver `index` has seen one."""
    deadline = time.monotonic() + patience_s
    for probe in meeting.probes:
        meeting.sender.send("out", probe, 1, 8)
        meeting.sent = probe
        if _sees(meeting, index, within_ms=100):
            return
        assert time.monotonic() < deadline, f"receiver {index} saw no frame within {patience_s} s"


def catch_up(meeting: Meeting) -> None:
    """Takes the probes that are still on the way: behind the last one there is none, and where that was lost, silence
    tells."""
    for index in range(len(meeting.receivers)):
        while meeting.seen.get(index) != meeting.sent and _sees(meeting, index, within_ms=60):
            pass


def _sees(meeting: Meeting, index: int, within_ms: int) -> bool:
    """Whether a receiver gets a probe, or what else comes."""
    seen = meeting.receivers[index].receive(f"in{index}", 1, within_ms)
    for frame in seen:
        meeting.seen[index] = frame.get("seq", 0)  # one that was mangled has none
    return bool(seen)


def drain(meeting: Meeting) -> None:
    """Takes whatever is still on the way."""
    for index, receiver in enumerate(meeting.receivers):
        while receiver.receive(f"in{index}", 1, within_ms=60):
            pass


def frames(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was seen, without late probes; content that was altered is a failure at once."""
    for frame in seen:
        assert "refused" not in frame, f"the transport mangled a frame: {frame['refused']}"
        assert frame["whole"], f"frame {frame['seq']} of {frame['payload_bytes']} bytes arrived with other content"
    return [frame for frame in seen if frame["seq"] < PROBE_SEQ]


def received(receiver: Puppet, name: str, count: int) -> list[dict[str, Any]]:
    """What a receiver gets of the next `count` frames, late probes left out."""
    return behind_probes(receiver, name, receiver.receive(name, count))


def behind_probes(receiver: Puppet, name: str, seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was seen, and in place of each late probe the next frame: on a busy machine a probe that was thought to be
    lost comes after all."""
    found = frames(seen)
    while late := len(seen) - len(frames(seen)):
        seen = receiver.receive(name, late)
        found += frames(seen)
    return found


def seqs(seen: list[dict[str, Any]]) -> list[int]:
    """The numbers of what was seen, in order of arrival."""
    return [frame["seq"] for frame in frames(seen)]
