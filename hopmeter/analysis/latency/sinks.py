"""Compute the columns with one value per sink, in sink order, if messages go to several sinks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hopmeter.analysis.latency.arrivals import count_lost, minus
from hopmeter.analysis.latency.latencies import Pieces, trim_slice
from hopmeter.analysis.latency.latency_columns import summary
from hopmeter.analysis.latency.pair import Pair
from hopmeter.model.cell import Cell

STATISTICS = ("mean", "min", "p50", "p99", "max")


def by_sink(pair: Pair) -> Pieces:
    """Return the latencies `service 0`, … in nanoseconds, and the counts `received 0`, …. Return an empty dict unless
    there are several sinks."""
    if not _several(pair.cell):
        return {}
    cut = trim_slice(pair)
    pieces: Pieces = {}
    for number, (reached, end) in enumerate(zip(pair.delivery_times, pair.ends, strict=True)):
        pieces[f"service {number}"] = [minus(reached[cut], pair.send_times[cut])]
        pieces[f"received {number}"] = [np.array([end.arrivals.received_count])]
    return pieces


def lost_by_sink(pair: Pair) -> Counter[str]:
    """Count the messages that did not reach each sink, under the names `service 0`, …. The counter is empty unless
    there are several sinks."""
    if not _several(pair.cell):
        return Counter()
    cut, sent = trim_slice(pair), pair.send_times
    reached = enumerate(pair.delivery_times)
    return Counter({f"service {number}": count_lost(times[cut], sent[cut]) for number, times in reached})


def columns(cell: Cell, trials: Sequence[Pieces], missing: Callable[[str], Sequence[int]]) -> dict[str, Any]:
    """Return the `sinks_…` columns. Return no columns unless there are several sinks. `servers.columns` explains the
    parameter `missing`."""
    if not _several(cell):
        return {}
    names = [f"service {number}" for number in range(cell.axes.sinks)]
    each = [summary("", [trial.get(name, []) for trial in trials], missing(name), ()) for name in names]
    found: dict[str, Any] = {
        f"sinks_service_{statistic}_us": [one.get(f"_{statistic}_us") for one in each] for statistic in STATISTICS
    }
    received = [
        [int(piece.sum()) for trial in trials for piece in trial[f"received {n}"]] for n in range(cell.axes.sinks)
    ]
    return found | {"sinks_received": [sum(one) for one in received]}


def _several(cell: Cell) -> bool:
    """Return whether the sinks have their own columns. If a trial measures the first message, the time to this message
    is its only latency, so the sinks have no columns of their own."""
    axes = cell.axes
    return axes.pattern == "pubsub" and not axes.is_ring and axes.sinks > 1 and not axes.measures_moments
