"""When messages are due, and what is recorded of each.

Times are nanoseconds of CLOCK_MONOTONIC, which all processes of one machine share. It is the instrument's clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

NULL = np.iinfo(np.int64).min
COLUMNS = ("seq", "intended_ns", "sent_ns", "encoded_ns", "handed_ns", "arrived_ns", "decoded_ns", "wrong")
SPUN_NS = 200_000
"""Sleep wakes late: the last of it is spun."""
LONGEST_SLEEP_S = 0.1


def until(due_ns: int, over: Callable[[], bool]) -> None:
    """Waits for a moment on the schedule; returns earlier only when all is over."""
    while (left := due_ns - time.monotonic_ns()) > 0 and not over():
        if left > SPUN_NS:
            time.sleep(min((left - SPUN_NS) / 1e9, LONGEST_SLEEP_S))


def table(rows: list[tuple[int, ...]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Rows as recorded, in the order of COLUMNS."""
    return np.array(rows, np.int64).reshape(len(rows), len(COLUMNS))
