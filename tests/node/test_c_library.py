"""Tests for a transport's C library, and for buffers over its loaned memory."""

from __future__ import annotations

import ctypes

import pytest

from hopmeter.node import c_library
from hopmeter.node.c_library import READ, SLOT_BITS, WRITE, SlotViews, load_library
from hopmeter.node.contract import AdapterError

SLOT_BYTES = 128


def test_a_library_that_is_not_built_names_the_command() -> None:
    with pytest.raises(AdapterError, match=r"libhopmeter_unheard_of\.so is not built") as refused:
        load_library("unheard_of", {})
    assert refused.value.remedy == "run `hopmeter build unheard_of --language rust`"


def test_a_view_is_the_frame_of_its_slot_and_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_library, "MOST_VIEWS", 2)
    memory = (ctypes.c_ubyte * (3 * SLOT_BYTES))()
    views = SlotViews(lambda slot: ctypes.addressof(memory) + slot * SLOT_BYTES, WRITE)
    word = 10 << SLOT_BITS | 2
    view = views.view(word)
    view[:] = bytes([7]) * 74
    assert bytes(memory[2 * SLOT_BYTES : 2 * SLOT_BYTES + 75]) == bytes([7]) * 74 + b"\0"
    assert views.view(word) is view
    for slot in range(2):
        views.view(slot)
    assert views.view(word) is not view  # the number of cached buffers is limited
    assert SlotViews(lambda slot: ctypes.addressof(memory) + slot * SLOT_BYTES, READ).view(0).readonly
