"""Tests for memory that is reused for each frame."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hopmeter.node.buffers import POOL_BYTES, BufferPool, BytesBuffer, FrameBuffer, PartsBuffer

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


def test_a_pool_lends_a_buffer_again_only_when_the_library_is_done() -> None:
    pool = BufferPool(POOL_BYTES, large_from=10)
    trackers = [SimpleNamespace(done=False) for _ in range(4)]
    buffers = []
    for tracker in trackers:
        buffers.append(pool.take(10))
        pool.used.append((buffers[-1], tracker))
    assert pool.take(10) is None
    trackers[0].done = True
    assert pool.take(10) is buffers[0]
    pool.used.append((buffers[0], None))
    trackers[1].done = True
    other = pool.take(20)
    assert other is not None
    assert len(other) == 20


def test_a_pool_has_one_buffer_for_small_frames() -> None:
    pool = BufferPool(100, large_from=50)
    small = pool.take(10)
    assert small is pool.small is pool.take(10)
    assert small is not None
    assert len(small) == 10
    shorter = pool.take(9)
    assert shorter is not None
    assert (len(shorter), shorter.obj is small.obj) == (9, True)
