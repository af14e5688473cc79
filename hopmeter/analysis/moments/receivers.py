"""What the receivers of a trial reached together."""

from __future__ import annotations

from collections.abc import Iterable


def last_arrival(arrivals_ns: Iterable[int | None]) -> int | None:
    """Return the latest of the receivers' arrival times, or None if a receiver has none."""
    latest = 0
    for arrived_ns in arrivals_ns:
        if arrived_ns is None:
            return None
        latest = max(latest, arrived_ns)
    return latest
