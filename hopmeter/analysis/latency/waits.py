"""Detect messages that wait in a queue throughout a trial. A queue that filled during warm-up shows no trend, so the
trend test cannot detect it (docs/method.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.arrivals import Times
from hopmeter.analysis.latency.pair import Pair
from hopmeter.store.samples import NONE_NS

Spans = NDArray[np.float64]
"""Durations in nanoseconds by message. The duration of a message that did not arrive is NaN."""

PERIODS = 10
"""A wait counts as long if it takes more than this many periods. Relays that hold messages raise the limit."""
LEAST_NS = 1_000_000
"""The shortest wait that counts as long. A shorter wait may be the receiver's wake-up, after which the receiver takes
all messages that have arrived."""
ALONE = 1
"""The percentage of the fastest messages of a hop that show how long the hop takes without a queue. A single fastest
message could be an outlier."""
ORDERLY = 0.99
"""The minimum share of messages that must stay in order to count as queued. A message that overtakes another message
does not wait in a queue."""


def limit_ns(pair: Pair, period_ns: float) -> float:
    """Return the limit above which a wait or a response counts as long. `period_ns` is the time between two messages.

    The limit is at least the total time that relays hold a message, because a relay may still be busy with the previous
    message. Each relay adds at most one period to the limit.
    """
    held_ns = sum(min(period_ns, median(_span(each.forwarded, each.arrived))) for each in pair.relays)
    return max(LEAST_NS, PERIODS * period_ns, held_ns)


def waiting_times(pair: Pair) -> Spans:
    """Return how long each message waited: at the source after its due time, and in the queue of each hop.

    The fastest messages show how long a hop takes without a queue; any time beyond that counts as waiting. If messages
    overtake each other, their delays are jitter, so only the wait at the source counts.
    """
    late = _span(pair.send_times, pair.due_times)
    if any(each.reordered_count > (1 - ORDERLY) * each.received_count for each in pair.deliveries):
        return late
    hops = [_beyond(_span(*hop)) for hop in pair.hops()]
    shared, last = hops[: len(pair.relays)], hops[len(pair.relays) :]
    behind: Spans = np.sum([late, *shared, np.maximum.reduce(last)], axis=0)
    return behind


def throughout(spans: Spans, limit: float, parts: int) -> bool:
    """Return whether the median exceeds the limit in every part of a trial. A single stall cannot cause long times in
    every part."""
    return all(median(each) > limit for each in np.array_split(spans, parts))


def median(spans: Spans) -> float:
    """Return the median time of the messages that arrived, or 0 if none arrived."""
    there = spans[~np.isnan(spans)]
    return float(np.median(there)) if len(there) else 0.0


def response(pair: Pair) -> Spans:
    """Return the time from each message's due time until the message reached all its receivers."""
    return _span(pair.completion_times, pair.due_times)


def _span(end: Times, start: Times) -> Spans:
    both = (end != NONE_NS) & (start != NONE_NS)
    return np.where(both, end - start, np.nan)


def _beyond(spans: Spans) -> Spans:
    if np.isnan(spans).all():
        return spans
    beyond: Spans = spans - np.nanpercentile(spans, ALONE, method="lower")
    return beyond
