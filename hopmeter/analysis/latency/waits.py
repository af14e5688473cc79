"""Detect messages that wait behind others: a queue that filled during warm-up shows no trend (docs/method.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.arrivals import Times
from hopmeter.analysis.latency.pair import Pair
from hopmeter.store.samples import NONE_NS

Spans = NDArray[np.float64]
"""Nanoseconds by message; NaN if a message did not arrive."""

PERIODS = 10
"""The most messages that may fall due while one waits; more in a chain whose relays hold messages for longer in all."""
LEAST_NS = 1_000_000
"""A shorter wait may be the wake-up of a receiver, which then takes all messages that came meanwhile at once."""
ALONE = 1
"""Percent of a hop's messages, the fastest ones, that show its time without a queue; one of them may be an outlier."""
ORDERLY = 0.99
"""The least share of messages that come through a queue in order; a message that overtakes does not wait behind
others."""


def limit_ns(pair: Pair, period_ns: float) -> float:
    """Return the limit for waits and whole ways; `period_ns` is the time between two messages.

    A place that works may still be busy with the previous message, for as long as it holds one.
    """
    held_ns = sum(min(period_ns, median(_span(each.forwarded, each.arrived))) for each in pair.relays)
    return max(LEAST_NS, PERIODS * period_ns, held_ns)


def waiting_times(pair: Pair) -> Spans:
    """Return how long each message waited: at the source after its due time, and at each hop beyond the time of the
    fastest messages.

    The fastest messages show what a hop takes by itself, so a long way is not a queue. Jitter is not a queue either: if
    messages overtake each other, only the wait at the source counts.
    """
    late = _span(pair.send_times, pair.due_times)
    if any(each.reordered_count > (1 - ORDERLY) * each.received_count for each in pair.deliveries):
        return late
    hops = [_beyond(_span(*hop)) for hop in pair.hops()]
    shared, last = hops[: len(pair.relays)], hops[len(pair.relays) :]
    behind: Spans = np.sum([late, *shared, np.maximum.reduce(last)], axis=0)
    return behind


def throughout(spans: Spans, limit: float, parts: int) -> bool:
    """Return whether the median exceeds a limit in every part of a trial, so that a single stall is not the cause."""
    return all(median(each) > limit for each in np.array_split(spans, parts))


def median(spans: Spans) -> float:
    """Return the median of the messages that arrived; 0 if none did."""
    there = spans[~np.isnan(spans)]
    return float(np.median(there)) if len(there) else 0.0


def response(pair: Pair) -> Spans:
    """Return the time from each message's due time until it had arrived everywhere."""
    return _span(pair.completion_times, pair.due_times)


def _span(end: Times, start: Times) -> Spans:
    both = (end != NONE_NS) & (start != NONE_NS)
    return np.where(both, end - start, np.nan)


def _beyond(spans: Spans) -> Spans:
    if np.isnan(spans).all():
        return spans
    beyond: Spans = spans - np.nanpercentile(spans, ALONE, method="lower")
    return beyond
