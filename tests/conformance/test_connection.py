"""How the conformance suite waits for probes and detects leaks, with objects in place of nodes."""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import pytest

from conformance import resource_count
from conformance.connection import PROBE_SEQ, Connection, catch_up, prove, receive_frames, seqs
from conformance.resource_count import LOOKS, OPENINGS, assert_no_growth
from conformance.scripted_node import ScriptedNode


class Holder:
    """Holds `kept` descriptors more with each opening, and threads that end after `ending` looks."""

    def __init__(self, kept: int = 0, ending: int = 0) -> None:
        self._kept, self._ending = kept, ending
        self._opened = self._looks = 0

    def once(self) -> None:
        self._opened += 1
        self._looks = self._ending

    def execute(self, do: str) -> dict[str, int]:
        assert do == "census"
        self._looks -= 1
        return {"descriptors": 20 + self._kept * self._opened, "threads": 3 + OPENINGS * (self._looks >= 0)}


def check_growth(monkeypatch: pytest.MonkeyPatch, *holders: Holder) -> None:
    def once() -> None:
        for one in holders:
            one.once()

    monkeypatch.setattr(resource_count, "PAUSE_S", 0.0)
    assert_no_growth(cast("list[ScriptedNode]", holders), once)


def test_what_is_given_back_late_is_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    check_growth(monkeypatch, Holder(), Holder(ending=LOOKS - 1))


def test_one_process_that_holds_more_with_each_opening_is_a_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=f"more resources after {OPENINGS} openings.*'descriptors': 28"):
        check_growth(monkeypatch, Holder(), Holder(kept=1))


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


def connect_to(*receivers: Receiver) -> Connection:
    connection = Connection(cast("ScriptedNode", Sender(*receivers)), cast("list[ScriptedNode]", list(receivers)), {})
    for index in range(len(receivers)):
        prove(connection, index)
    catch_up(connection)
    return connection


def test_who_has_seen_the_last_probe_is_not_asked_again() -> None:
    only = Receiver()
    connect_to(only)
    assert (only.asked, list(only.coming)) == (1, [])


def test_probes_that_came_late_or_for_others_are_taken_by_each() -> None:
    receivers = [Receiver(), Receiver(late=3), Receiver()]
    connect_to(*receivers)
    assert [list(one.coming) for one in receivers] == [[], [], []]


def test_silence_tells_that_the_last_probe_was_lost() -> None:
    only = Receiver()
    connection = connect_to(only)
    connection.sent += 1
    catch_up(connection)
    assert only.asked == 2


def test_a_probe_that_comes_after_all_takes_no_frames_place() -> None:
    only = Receiver()
    only.coming.extend([PROBE_SEQ, PROBE_SEQ + 1, 0])
    assert seqs(receive_frames(cast("ScriptedNode", only), "in0", 1)) == [0]
    assert seqs(receive_frames(cast("ScriptedNode", only), "in0", 1)) == []
