"""Measure how long a trial takes until its first message arrives, and how many messages are lost before then.

If a trial measures the first message, its source starts to send as soon as its own link end is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.moments.receivers import last_arrival
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.topology import topology
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import Samples

PARTS = ("launch_us", "opening_us", "discovery_us")
LOSSES = ("lost_at_start", "lost_after_open")


@dataclass(frozen=True)
class FirstMessage:
    """The moments of a trial until its first message arrives, on CLOCK_MONOTONIC, and the number of messages lost
    before then."""

    spawned_ns: int
    """When the launcher started the first program."""
    loaded_ns: int
    """When the last program had loaded its libraries."""
    opened_ns: int
    """When the last end was open."""
    first_arrival_ns: int | None
    """When the last receiver got its first message, or None if a receiver got no message."""
    lost_at_start: int
    """The number of messages that the source offered before the first one that arrived, and that never arrived."""
    lost_after_open: int
    """The number of these messages that were due when all ends were open."""

    @property
    def took_ns(self) -> int | None:
        """Return the time from the start of the first program to the first message."""
        return None if self.first_arrival_ns is None else self.first_arrival_ns - self.spawned_ns

    @property
    def parts_us(self) -> dict[str, float]:
        """Return the parts of the time to the first message in µs, or an empty dict if a receiver got no message.

        A callback may receive the first message before the call that opens the link end has returned; the opening part
        then ends with this message.
        """
        if self.first_arrival_ns is None:
            return {}
        opened_ns = min(self.opened_ns, self.first_arrival_ns)
        ends = (self.spawned_ns, self.loaded_ns, opened_ns, self.first_arrival_ns)
        return {name: (end - start) / 1000 for name, start, end in zip(PARTS, ends, ends[1:], strict=False)}


@dataclass(frozen=True)
class _Receiver:
    """What one receiver got: its first arrival, and the number of messages lost before that arrival."""

    arrived_ns: int | None
    lost_due: NDArray[np.int64]
    """When each of the messages lost before the first arrival was due."""


def find_first_message(cell: Cell, result: TrialResult, samples: Samples) -> FirstMessage:
    """Return the moments of a trial whose source sent without waiting for the receivers.

    Raises StoreError if the samples are missing or damaged, or if a node did not report when it started.
    """
    return _combine(result, list(_receivers(cell, samples)))


def cell_columns(trials: Sequence[FirstMessage]) -> dict[str, float]:
    """Return the median of each part of the start-up time, and the median loss, over the trials in which a message
    arrived."""
    found = [values for each in trials if (values := _values(each))]
    return {name: median(each[name] for each in found) for name in found[0]} if found else {}


def trial_columns(first: FirstMessage) -> dict[str, Any]:
    """Return a trial's moments until the first message, and its losses, keyed by column of `trials.parquet`."""
    return {name: getattr(first, name) for name in FirstMessage.__dataclass_fields__}


def _values(first: FirstMessage) -> dict[str, float]:
    return first.parts_us and {**first.parts_us, **{name: getattr(first, name) for name in LOSSES}}


def _moments(result: TrialResult) -> tuple[int, int, int]:
    """Return when the first node was started, when the last node had loaded its libraries, and when the last link end
    was open.

    Raises StoreError if a node did not report when it started, because an older version of hopmeter built the node.
    """
    nodes = [node for node in result.nodes if node.get("endpoints")]
    try:
        opened_ns = [each["opened_ns"] for node in nodes for each in node["endpoints"]]
        return min(node["spawned_ns"] for node in nodes), max(node["loaded_ns"] for node in nodes), max(opened_ns)
    except KeyError as missing:
        said = f"a node did not report {missing}, so it has another version than hopmeter"
        raise StoreError("E-VERSIONS-DIFFER", said, "run `hopmeter build`, and measure again") from missing


def _combine(result: TrialResult, receivers: Sequence[_Receiver]) -> FirstMessage:
    spawned_ns, loaded_ns, opened_ns = _moments(result)
    return FirstMessage(
        spawned_ns=spawned_ns,
        loaded_ns=loaded_ns,
        opened_ns=opened_ns,
        first_arrival_ns=last_arrival(each.arrived_ns for each in receivers),
        lost_at_start=max(len(each.lost_due) for each in receivers),
        lost_after_open=max(int((each.lost_due >= opened_ns).sum()) for each in receivers),
    )


def _receivers(cell: Cell, samples: Samples) -> Iterator[_Receiver]:
    for source, *sinks in topology(cell).flows.values():
        sent = samples.of(source.id, "seq", "due_ns")
        for sink in sinks:
            got = samples.of(sink.id, "seq", "arrived_ns")
            yield _receiver(sent["seq"], sent["due_ns"], got["seq"], got["arrived_ns"])


def _receiver(
    sent: NDArray[np.int64], due: NDArray[np.int64], seqs: NDArray[np.int64], arrived: NDArray[np.int64]
) -> _Receiver:
    if not len(seqs):
        return _Receiver(None, due)
    first = int(arrived.argmin())
    lost = (sent < seqs[first]) & ~np.isin(sent, seqs)
    return _Receiver(int(arrived[first]), due[lost])
