"""Format durations, sizes and settings for people."""

from __future__ import annotations


def time(seconds: float) -> str:
    """Format a duration as `40 s`, `30 min` or `1.5 h`; a duration of less than a second becomes `1 s`."""
    if seconds <= 90:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(megabytes: float) -> str:
    """Format megabytes as `31 kB`, `25 MB` or `1.4 GB`."""
    if megabytes < 1:
        return f"{1000 * megabytes:.0f} kB"
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"


def setting(value: object) -> str:
    """Format the value of a setting as the user would type it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
