"""Formats durations, sizes and settings so that people can read them easily."""

from __future__ import annotations

from collections.abc import Sequence

DECIMAL = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
BINARY = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
DIGITS = 3
"""The number of significant digits of a size."""


def time(seconds: float) -> str:
    """Format a duration, such as `40 s`, `30 min` or `1.5 h`. A duration below one second becomes `1 s`."""
    if seconds <= 90:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(megabytes: float) -> str:
    """Format a size in megabytes, such as `31 kB`, `25 MB` or `1.4 GB`."""
    if megabytes < 1:
        return f"{1000 * megabytes:.0f} kB"
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"


def setting(value: object) -> str:
    """Format the value of a setting in the form in which a user types it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def byte_size(count: float, space: str = " ") -> str:
    """Format a number of bytes briefly, such as `28 B`, `1.5 kB`, `64 KiB` or `4.67 MB`.

    Units are decimal, as is usual in networking. A power of two without a short decimal form is shown in binary units.
    An exact size has no trailing zeros: `1 MB` is exact, `1.00 MB` is rounded.
    """
    name, unit = _unit(count, DECIMAL)
    value = count / unit
    if unit == 1:
        return f"{round(count):,}{space}{name}"
    if round(float(f"{value:.{DIGITS}g}") * unit) == count:
        return f"{value:,g}{space}{name}"
    whole = int(count)
    if whole == count and whole.bit_count() == 1:
        name, unit = _unit(count, BINARY)
        return f"{whole // unit:,}{space}{name}"
    return f"{_round_text(value)}{space}{name}"


def _unit(count: float, units: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """Return the name and the value of the largest unit that does not exceed the given size."""
    return next(((name, unit) for name, unit in units if count >= unit), ("B", 1))


def _round_text(value: float) -> str:
    before = len(str(int(float(f"{value:.{DIGITS}g}"))))
    return f"{value:,.{max(0, DIGITS - before)}f}"


def join(words: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b` or `a, b and c`, or an empty string if there are no words."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


def plural(many: int, one: str, more: str = "") -> str:
    """Return a number with its noun, such as `1 cell` or `3 cells`."""
    return f"{many} {one if many == 1 else more or one + 's'}"


def first(words: Sequence[str], most: int, one: str = "other", more: str = "") -> list[str]:
    """Return the first `most` words and the number of remaining words, such as `a`, `b`, `3 others`."""
    return list(words) if len(words) <= most else [*words[:most], plural(len(words) - most, one, more)]
