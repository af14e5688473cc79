"""Tests for the conformance suite's probes and leak detection, with fake nodes."""

from __future__ import annotations

from typing import cast

import pytest

from conformance import resource_count
from conformance.resource_count import LOOKS, OPENINGS, assert_no_growth
from conformance.scripted_node import ScriptedNode


class Holder:
    """A node that keeps `kept` additional descriptors per connection, and threads that end after `ending` checks."""

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
