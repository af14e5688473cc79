"""Checks Arrow views: 16-byte descriptors that contain short text or refer to long text."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopmeter.codecs.errors import CodecError

INLINE_BYTES = 12
"""The maximum length in bytes of text that a view stores inline."""


def check_views(buffers: list[Any], end: int) -> None:
    """Raise CodecError if any of the first `end` views refers to bytes outside the text buffers.

    Arrow's validation skips the views of missing values, but Arrow's casts and Polars read these views.
    """
    if buffers[0] is None:
        return
    views = np.frombuffer(buffers[1], "<i4", 4 * end).reshape(-1, 4)
    sizes = np.array([one.size for one in buffers[2:]], np.int64)
    lengths = views[:, 0]
    if (lengths < 0).any() or not _lie_within(views[lengths > INLINE_BYTES].astype(np.int64), sizes):
        raise CodecError("E-ARROW-VIEWS", "Arrow views point outside their text")


def _lie_within(views: Any, sizes: Any) -> bool:
    if not len(views):
        return True
    length, _, buffer, first = views.T
    if buffer.min() < 0 or buffer.max() >= len(sizes) or first.min() < 0:
        return False
    return bool((first + length <= sizes[buffer]).all())
