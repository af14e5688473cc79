"""Compute the latencies of a pair. docs/metrics.md defines their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import numpy as np

from hopmeter.analysis.latency.arrivals import Times, count_lost, minus
from hopmeter.analysis.latency.host_clocks import ClockUncertainty
from hopmeter.analysis.latency.pair import EndpointTimes, Pair
from hopmeter.analysis.latency.percentiles import PERMILLE, least_count, resolvable
from hopmeter.model import units
from hopmeter.store.samples import NONE_NS

TRIM_SHARE = 0.01
"""The largest share of messages that is trimmed at each end of a trial."""

CHAIN = "chain"
"""The latency from the source to the last receiver, without replies. The latency `chain_per_hop` is `chain` divided by
the number of hops."""

Span = tuple[str, Times, Times]
"""The name of a latency, its end times and its start times, by message."""

Pieces = dict[str, list[Times]]
"""Latencies in nanoseconds by name, each in one or more arrays."""


def trim(messages: int) -> int:
    """Return how many messages are excluded from latencies at each end of a trial.

    Trimming leaves enough messages to resolve every percentile that could be resolved without trimming. Trials that are
    too short for p99 are not trimmed, because all trials together may resolve p99.
    """
    if messages < least_count(PERMILLE["p99"]):
        return 0
    spare = (messages - resolvable(messages)) // 2
    return min(int(messages * TRIM_SHARE), spare)


def trim_slice(pair: Pair) -> slice:
    """Return the slice of a pair's messages that remain after trimming."""
    out = trim(pair.messages)
    return slice(out, pair.messages - out)


def latencies(pair: Pair) -> Pieces:
    """Return every latency that applies to the pair's pattern and has samples."""
    cut = trim_slice(pair)
    pieces: Pieces = {}
    for name, end, start in chain(_spans(pair), _inner_spans(pair)):
        took = minus(end[cut], start[cut])
        if len(took):
            pieces.setdefault(name, []).append(took)
    return pieces


def count_missing(pair: Pair) -> Counter[str]:
    """Count, for each latency, the messages with a start time but no end time. Percentiles treat messages without an
    end time as later than all other messages."""
    cut = trim_slice(pair)
    missing: Counter[str] = Counter()
    for name, end, start in chain(_spans(pair), _inner_spans(pair)):
        missing[name] += count_lost(end[cut], start[cut])
    return missing


def clock_uncertainties(pair: Pair) -> dict[str, ClockUncertainty]:
    """Return the clock uncertainty of each latency that starts on one clock and ends on another."""
    ways = pair.one_way_uncertainty
    found = {"hop": pair.hop_uncertainty}
    if pair.cell.axes.pattern in ("pubsub", "rpc"):
        found[CHAIN] = ways
    if pair.one_way:
        found |= {"response": ways, "service": ways}
    return {name: each for name, each in found.items() if each.whole_ns}


def _spans(pair: Pair) -> Iterator[Span]:
    """Yield the end-to-end latencies. In the ring pattern, the end-to-end latencies are round trips."""
    sent, done = pair.send_times, pair.completion_times
    if pair.cell.axes.pattern == "pubsub" and not pair.one_way:
        yield from (("roundtrip", done, sent), (CHAIN, done, sent))
        return
    yield from (("response", done, pair.due_times), ("service", done, sent))
    if pair.cell.axes.pattern == "pubsub":
        yield CHAIN, done, sent
        return
    yield from (("roundtrip", lane.replied, lane.sent) for lane in pair.lanes)
    if pair.cell.axes.pattern == "scatter":
        yield "gather", done, sent
    else:
        yield CHAIN, pair.arrival_times[0], sent


def _inner_spans(pair: Pair) -> Iterator[Span]:
    """Yield the latencies that are parts of an end-to-end latency, such as `hop`, `encode` and `decode`."""
    yield from (("hop", arrived, left) for arrived, left in pair.hops())
    yield from (("encode", lane.encoded, lane.sent) for lane in pair.lanes if lane.encoded is not None)
    yield from (("decode", end.decoded, end.arrived) for end in pair.ends if end.decoded is not None)
    yield from (("decode", lane.decoded, lane.replied) for lane in pair.lanes if lane.decoded is not None)
    if "copy" in {each["kind"] for each in units.works(pair.cell.axes.work)} <= {"copy", "none"}:
        workers = [each for each in (*pair.relays, *pair.ends) if len(each.forwarded)]
        yield from (("copy", each.forwarded, each.arrived) for each in workers)
    if pair.cell.axes.pattern != "pubsub":
        yield from (("server", end.forwarded, end.arrived) for end in pair.ends)
        yield "overhead", pair.completion_times, _plus(pair.send_times, _hold_times(pair))
        if pair.cell.axes.ideal_s is not None:
            yield "excess", pair.completion_times, _later(pair.send_times, pair.cell.axes.ideal_s)


def _hold_times(pair: Pair) -> Times:
    """Return how long the servers held each request: the longest time for parallel calls, otherwise the sum."""
    holds = [hold(each) for each in (*pair.relays, *pair.ends)]
    missing = np.logical_or.reduce([each == NONE_NS for each in holds])
    at_once = pair.cell.axes.pattern == "scatter" and pair.cell.axes.dispatch == "parallel"
    held: Times = (np.maximum if at_once else np.add).reduce(holds)
    held[missing] = NONE_NS
    return held


def hold(place: EndpointTimes) -> Times:
    """Return the time from a request's arrival to its reply or forwarding, or NONE_NS if either time is missing."""
    both = (place.forwarded != NONE_NS) & (place.arrived != NONE_NS)
    return np.where(both, place.forwarded - place.arrived, NONE_NS)


def _later(times: Times, span_s: float) -> Times:
    return np.where(times != NONE_NS, times + round(span_s * 1e9), NONE_NS)


def _plus(times: Times, more: Times) -> Times:
    return np.where((times != NONE_NS) & (more != NONE_NS), times + more, NONE_NS)
