"""How long something takes and how much it is, in words for a person who waits for it."""

from __future__ import annotations


def time(seconds: float) -> str:
    """`40 s`, `30 min`, `1.5 h`; what takes less than a second is said to take one."""
    if seconds < 90:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(megabytes: float) -> str:
    """`25 MB`, `1.4 GB`."""
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"
