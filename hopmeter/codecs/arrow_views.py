"""Arrow views: descriptors of 16 bytes, each with short text itself, or with the place of long text."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopmeter.codecs.errors import CodecError

INLINE_BYTES = 12
"""Text up to this long stands in the view itself."""


def check_views(buffers: list[Any], end: int) -> None:
    """CodecError unless the first `end` views lie in the buffers of text that follow them.

    Arrow's own validation checks all but the views of missing values, and these are read by its casts and by Polars.
    """
    if buffers[0] is None:
        return
    views = np.frombuffer(buffers[1], "<i4", 4 * end).reshape(-1, 4)
    sizes = np.array([one.size for one in buffers[2:]], np.int64)
    lengths = views[:, 0]
    if (lengths < 0).any() or not _lie_within(views[lengths > INLINE_BYTES].astype(np.int64), sizes):
        raise CodecError("E-ARROW-VIEWS", "Arrow views to other than their text")


def _lie_within(views: Any, sizes: Any) -> bool:
    if not len(views):
        return True
    length, _, buffer, first = views.T
    if buffer.min() < 0 or buffer.max() >= len(sizes) or first.min() < 0:
        return False
    return bool((first + length <= sizes[buffer]).all())
