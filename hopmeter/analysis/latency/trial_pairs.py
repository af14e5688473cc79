"""Read the pairs of a trial from its samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.arrivals import Arrivals, Times
from hopmeter.analysis.latency.host_clocks import HostClocks
from hopmeter.analysis.latency.pair import EndpointTimes, Lane, Pair
from hopmeter.model.cell import Cell
from hopmeter.plan.topology import Endpoint, topology
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import NONE_NS, Samples

Columns = dict[str, Times]
NOTHING: Times = np.empty(0, np.int64)
SPARSE = 1 << 20
"""Samples with more missing sequence numbers than this count as damaged. The limit bounds memory use, because the
arrays are as long as the highest sequence number."""


def pairs(cell: Cell, samples: Samples) -> Iterator[Pair]:
    """Yield the pairs of a trial one at a time, so that only one pair is in memory.

    Raises StoreError if the samples are damaged or contain an unknown endpoint. If the trial ran on several hosts, the
    clock file in the run folder makes their times comparable.
    """
    strangers = set(samples.endpoints) - {each.id for each in topology(replace(cell, flow="")).endpoints}
    if strangers:
        raise _implausible(samples, f"endpoint {min(strangers)} is not in the cell {cell.id}")
    for endpoints in topology(cell).flows.values():
        yield _pair(cell, samples, endpoints)


def _pair(cell: Cell, samples: Samples, endpoints: Sequence[Endpoint]) -> Pair:
    origin, others = endpoints[0], endpoints[1:]
    lanes = [replace(lane, host=origin.host) for lane in _lanes(cell, samples, origin.id)]
    relays = [_place(cell, samples, each, lanes[0]) for each in others if each.role == "relay"]
    ends = [each for each in others if each.role != "relay"]
    of_lane = lanes if cell.axes.pattern == "scatter" else lanes * len(ends)
    places = [_place(cell, samples, each, lane) for each, lane in zip(ends, of_lane, strict=True)]
    return Pair(cell, lanes, relays, places, HostClocks(samples.path.parent.parent))


def _lanes(cell: Cell, samples: Samples, origin: int) -> list[Lane]:
    if cell.axes.pattern == "pubsub" and not cell.axes.is_ring:
        return [_source(cell, samples, origin)]
    rows = samples.of(origin, "seq", "copy", "due_ns", "sent_ns", "arrived_ns", *_codec(cell))
    if cell.axes.pattern == "pubsub":
        came_back = rows["arrived_ns"] != NONE_NS
        return [_lane(samples, _where(rows, ~came_back), _where(rows, came_back))]
    if _is_concurrent(cell):
        order = np.argsort(rows["seq"], kind="stable")
        rows = {name: values[order] for name, values in rows.items()}
    count = cell.axes.sinks if cell.axes.pattern == "scatter" else 1
    lanes = [_where(rows, rows["copy"] == number) for number in range(count)]
    messages = max(_messages(samples, lane["seq"]) for lane in lanes)
    return [_lane(samples, lane, _where(lane, lane["arrived_ns"] != NONE_NS), messages) for lane in lanes]


def _is_concurrent(cell: Cell) -> bool:
    """Return whether several calls run concurrently. Replies to concurrent calls may arrive in any order."""
    return cell.workload is not None and bool(cell.flow) and cell.workload.flow(cell.flow).concurrency > 1


def _source(cell: Cell, samples: Samples, origin: int) -> Lane:
    encoded = [name for name in _codec(cell) if name == "encoded_ns"]
    rows = samples.of(origin, "seq", "due_ns", "sent_ns", *encoded)
    return _lane(samples, rows, {})


def _codec(cell: Cell) -> list[str]:
    """Return the sample columns that a codec fills. Return an empty list if there is no codec, or if the transport
    itself encodes messages."""
    return [] if cell.axes.codec == "none" or cell.carriage.own_encoders else ["encoded_ns", "decoded_ns"]


def _where(rows: Columns, chosen: NDArray[np.bool_]) -> Columns:
    return {name: values[chosen] for name, values in rows.items()}


def _lane(samples: Samples, asked: Columns, back: Columns, messages: int = 0) -> Lane:
    messages = messages or _messages(samples, asked["seq"])
    offers = Arrivals(asked["seq"], messages)
    if offers.duplicate_count or offers.stray:
        raise _implausible(samples, "the source recorded a message twice")
    replies = Arrivals(back.get("seq", NOTHING), messages)
    return Lane(
        due=offers.by_message(asked["due_ns"]),
        sent=offers.by_message(asked["sent_ns"]),
        encoded=_optional(offers, asked.get("encoded_ns")),
        replies=replies,
        replied=replies.by_message(back["arrived_ns"]) if back else NOTHING,
        decoded=_optional(replies, back.get("decoded_ns")),
        offered=len(asked["seq"]),
        abandoned=int((asked["sent_ns"] == NONE_NS).sum()),
    )


def _messages(samples: Samples, seqs: Times) -> int:
    """Return the number of messages, computed from the highest sequence number. The source records all messages,
    including the messages that it abandoned."""
    if not len(seqs):
        return 0
    lowest, highest = int(seqs.min()), int(seqs.max())
    if lowest < 0 or highest >= len(seqs) + SPARSE:
        raise _implausible(samples, f"the source recorded {len(seqs)} messages, with seqs from {lowest} to {highest}")
    return highest + 1


def _place(cell: Cell, samples: Samples, who: Endpoint, lane: Lane) -> EndpointTimes:
    passes_on = who.role != "sink"
    forwarding = ["forwarded_ns"] if passes_on or (cell.axes.sinks_work and cell.axes.work != "none") else []
    names = ["arrived_ns", *forwarding, *_decoding(cell, who)]
    rows = samples.of(who.id, "seq", *names)
    arrivals = Arrivals(rows["seq"], len(lane.due))
    forwarded = rows.get("forwarded_ns")
    return EndpointTimes(
        arrivals=arrivals,
        arrived=arrivals.by_message(rows["arrived_ns"]),
        forwarded=NOTHING if forwarded is None else arrivals.by_message(forwarded),
        decoded=_optional(arrivals, rows.get("decoded_ns")),
        refused=0 if forwarded is None or not passes_on else int((forwarded == NONE_NS).sum()),
        host=who.host,
    )


def _decoding(cell: Cell, who: Endpoint) -> list[str]:
    return ["decoded_ns"] if who.role == "sink" and _codec(cell) else []


def _optional(arrivals: Arrivals, times: Times | None) -> Times | None:
    return None if times is None else arrivals.by_message(times)


def _implausible(samples: Samples, what: str) -> StoreError:
    return StoreError("E-SAMPLES-DAMAGED", f"the samples {samples.path} are damaged: {what}", "measure the trial again")
