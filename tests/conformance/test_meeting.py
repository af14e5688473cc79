"""What the conformance suite waits for, and what it sees of a leak, with puppets that are none."""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import pytest

from conformance import census
from conformance.census import LOOKS, OPENINGS, grows_not
from conformance.meeting import PROBE_SEQ, Meeting, catch_up, prove, received, seqs
from conformance.puppet import Puppet


class Holder:
    """Holds `kept` descriptors more with each opening, and threads that end after `ending` looks."""

    def __init__(self, kept: int = 0, ending: int = 0) -> None:
        self._kept, self._ending = kept, ending
        self._opened = self._looks = 0

    def once(self) -> None:
        self._opened += 1
        self._looks = self._ending

    def tell(self, do: str) -> dict[str, int]:
        assert do == "census"
        self._looks -= 1
        return {"descriptors": 20 + self._kept * self._opened, "threads": 3 + OPENINGS * (self._looks >= 0)}


def look_at(monkeypatch: pytest.MonkeyPatch, *holders: Holder) -> None:
    def once() -> None:
        for one in holders:
            one.once()

    monkeypatch.setattr(census, "PAUSE_S", 0.0)
    grows_not(cast("list[Puppet]", holders), once)


def test_what_is_given_back_late_is_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(monkeypatch, Holder(), Holder(ending=LOOKS - 1))


def test_one_process_that_holds_more_with_each_opening_is_a_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=f"more is held after {OPENINGS} openings.*'descriptors': 28"):
        look_at(monkeypatch, Holder(), Holder(kept=1))


class Receiver:
    """Sees nothing the first times that it is asked, if it is `late`."""

    def __init__(self, late: int = 0) -> None:
        self._late = late
        self.coming: deque[int] = deque()
        self.asked = 0

    def receive(self, *_: object, **__: object) -> list[dict[str, Any]]:
        self.asked += 1
        if self.asked <= self._late or not self.coming:
            return []
        return [{"seq": self.coming.popleft(), "payload_bytes": 8, "whole": True}]


class Sender:
    """Sends to all of these."""

    def __init__(self, *receivers: Receiver) -> None:
        self._receivers = receivers

    def send(self, _name: str, seq: int, *_: object) -> None:
        for one in self._receivers:
            one.coming.append(seq)


def met(*receivers: Receiver) -> Meeting:
    meeting = Meeting(cast("Puppet", Sender(*receivers)), cast("list[Puppet]", list(receivers)), {})
    for index in range(len(receivers)):
        prove(meeting, index)
    catch_up(meeting)
    return meeting


def test_who_has_seen_the_last_probe_is_not_asked_again() -> None:
    only = Receiver()
    met(only)
    assert (only.asked, list(only.coming)) == (1, [])


def test_probes_that_came_late_or_for_others_are_taken_by_each() -> None:
    receivers = [Receiver(), Receiver(late=3), Receiver()]
    met(*receivers)
    assert [list(one.coming) for one in receivers] == [[], [], []]


def test_silence_tells_that_the_last_probe_was_lost() -> None:
    only = Receiver()
    meeting = met(only)
    meeting.sent += 1
    catch_up(meeting)
    assert only.asked == 2


def test_a_probe_that_comes_after_all_takes_no_frames_place() -> None:
    only = Receiver()
    only.coming.extend([PROBE_SEQ, PROBE_SEQ + 1, 0])
    assert seqs(received(cast("Puppet", only), "in0", 1)) == [0]
    assert seqs(received(cast("Puppet", only), "in0", 1)) == []
