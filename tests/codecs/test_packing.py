"""Tests that pack frames into one buffer: the layout of a few frames is cached, that of many is not."""

from __future__ import annotations

import pytest

from hopmeter.codecs import CodecError, packing


@pytest.mark.parametrize("count", [0, 1, packing.KEPT_FRAMES, packing.KEPT_FRAMES + 1, 500])
def test_frames_come_back_each_on_a_cache_line_the_second_time_too(count: int) -> None:
    frames = [bytes([number % 256]) * (number % 70) for number in range(count)]
    for _ in range(2):
        buffer = bytearray(packing.packed_bytes(frames))
        assert packing.pack_into(frames, buffer) == len(buffer)
        views = packing.unpack(buffer)
        assert [bytes(view) for view in views] == frames
        ends = 8 * (count + 1)
        for view, place in zip(views, packing._layout_for(frames).places, strict=True):
            assert place.start == ends + -ends % packing.ALIGN
            ends = place.start + len(view)


@pytest.mark.parametrize("count", [2, packing.KEPT_FRAMES + 1])
def test_a_buffer_of_another_length_is_refused_though_its_table_is_known(count: int) -> None:
    frames = [b"x" * 100] * count
    buffer = bytearray(packing.packed_bytes(frames))
    packing.pack_into(frames, buffer)
    assert len(packing.unpack(buffer)) == count
    for wrong in (buffer[:-1], buffer + b"x", buffer[: 8 * count], b"", buffer[:7], buffer[8:], b"\xff" * 64):
        with pytest.raises(CodecError):
            packing.unpack(wrong)


def test_tables_of_many_frames_are_not_kept() -> None:
    before = packing._read_layout_cached.cache_info().currsize
    frames = [b""] * (packing.KEPT_FRAMES + 1)
    buffer = bytearray(packing.packed_bytes(frames))
    packing.pack_into(frames, buffer)
    packing.unpack(buffer)
    assert packing._read_layout_cached.cache_info().currsize == before
