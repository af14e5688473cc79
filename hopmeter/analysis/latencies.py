"""The latencies of a flow, by the names of docs/metrics.md: of every message the time from a start to an end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from hopmeter.analysis.arrivals import Times, minus
from hopmeter.analysis.flow import Flow, Place
from hopmeter.analysis.percentiles import resolvable
from hopmeter.store.samples import NONE_NS

TRIM_SHARE = 0.01
"""Of the messages of a trial, at its head and at its tail each, at most."""

CHAIN = "chain"
"""From the source to the last receiver, replies left out; the end to end of `chain_per_hop`."""

Span = tuple[str, Times, Times]
"""A figure's name, and by message its end and its start."""

Pieces = dict[str, list[Times]]
"""Latencies in nanoseconds by figure, in one array or more."""


def trim(messages: int) -> int:
    """Return how many messages are left out of latency at the head and at the tail.

    The number is small enough that the trial still resolves the same percentiles.
    """
    spare = (messages - resolvable(messages)) // 2
    return min(int(messages * TRIM_SHARE), spare)


def trim_slice(flow: Flow) -> slice:
    """The messages of a flow that are in its latencies."""
    out = trim(flow.messages)
    return slice(out, flow.messages - out)


def latencies(flow: Flow) -> Pieces:
    """Every figure that applies to the flow's pattern and has samples."""
    cut = trim_slice(flow)
    figures: Pieces = {}
    for name, end, start in chain(_spans(flow), _inner_spans(flow)):
        took = minus(end[cut], start[cut])
        if len(took):
            figures.setdefault(name, []).append(took)
    return figures


def _spans(flow: Flow) -> Iterator[Span]:
    """What a user waits for. A ring has a round trip and nothing else: it is no one-way time."""
    sent, done = flow.send_times, flow.completion_times
    if flow.cell.axes.pattern == "pubsub" and not flow.one_way:
        yield from (("roundtrip", done, sent), (CHAIN, done, sent))
        return
    yield from (("response", done, flow.intended_times), ("service", done, sent))
    if flow.cell.axes.pattern == "pubsub":
        yield CHAIN, done, sent
        return
    yield from (("roundtrip", lane.replied, lane.sent) for lane in flow.lanes)
    if flow.cell.axes.pattern == "scatter":
        yield "gather", done, sent
    else:
        yield CHAIN, flow.ends[0].arrived, sent


def _inner_spans(flow: Flow) -> Iterator[Span]:
    """Yield the parts of the way."""
    yield from (("hop", arrived, left) for arrived, left in flow.hops())
    yield from (("encode", lane.encoded, lane.sent) for lane in flow.lanes if lane.encoded is not None)
    yield from (("decode", end.decoded, end.arrived) for end in flow.ends if end.decoded is not None)
    yield from (("decode", lane.decoded, lane.replied) for lane in flow.lanes if lane.decoded is not None)
    if flow.cell.axes.work.startswith("copy"):
        workers = [each for each in (*flow.relays, *flow.ends) if len(each.forwarded)]
        yield from (("copy", each.forwarded, each.arrived) for each in workers)
    if flow.cell.axes.pattern != "pubsub":
        yield from (("server", end.forwarded, end.arrived) for end in flow.ends)
        yield "overhead", flow.completion_times, _plus(flow.send_times, _hold_times(flow))
        if flow.cell.axes.ideal_s is not None:
            yield "excess", flow.completion_times, _later(flow.send_times, flow.cell.axes.ideal_s)


def _hold_times(flow: Flow) -> Times:
    """How long those who answer held each request: one after the other, or asked at once the slowest of them."""
    holds = [hold(each) for each in (*flow.relays, *flow.ends)]
    missing = np.logical_or.reduce([each == NONE_NS for each in holds])
    at_once = flow.cell.axes.pattern == "scatter" and flow.cell.axes.dispatch == "parallel"
    held: Times = (np.maximum if at_once else np.add).reduce(holds)
    held[missing] = NONE_NS
    return held


def hold(place: Place) -> Times:
    """Return the time from a request's arrival until its answer or forwarding, by message."""
    both = (place.forwarded != NONE_NS) & (place.arrived != NONE_NS)
    return np.where(both, place.forwarded - place.arrived, NONE_NS)


def _later(times: Times, span_s: float) -> Times:
    return np.where(times != NONE_NS, times + round(span_s * 1e9), NONE_NS)


def _plus(times: Times, more: Times) -> Times:
    return np.where((times != NONE_NS) & (more != NONE_NS), times + more, NONE_NS)
