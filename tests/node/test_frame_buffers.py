"""Memory that is written again for each frame."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.node.buffers import BytesBuffer, FrameBuffer, PartsBuffer

LENGTHS = [10, 3, 3, 0, 10]


def fill(*parts: Any) -> None:
    for part in parts:
        memoryview(part).cast("B")[:] = bytes([len(part) % 256]) * len(part)


@pytest.mark.parametrize("buffer", [FrameBuffer(74), BytesBuffer()])
def test_a_frame_has_the_length_that_was_asked_for(buffer: FrameBuffer | BytesBuffer) -> None:
    for length in LENGTHS:
        assert buffer.fill(length, fill) == bytes([64 + length]) * (64 + length)


def test_header_and_payload_are_two() -> None:
    buffer = PartsBuffer()
    for length in LENGTHS:
        assert buffer.fill(length, fill) == (bytes([64]) * 64, bytes([length]) * length)


def test_frames_of_one_length_share_their_memory() -> None:
    buffer = BytesBuffer()
    assert buffer.fill(3, fill) is buffer.fill(3, fill)
