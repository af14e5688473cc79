"""Compute the columns with one value per scatter server, in server order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hopmeter.analysis.latency.arrivals import count_lost, minus
from hopmeter.analysis.latency.latencies import Pieces, hold, trim_slice
from hopmeter.analysis.latency.latency_columns import summary
from hopmeter.analysis.latency.pair import Pair
from hopmeter.model.cell import Cell
from hopmeter.store.samples import NONE_NS

STATISTICS = {"roundtrip": ("mean", "p50", "p99"), "held": ("mean", "p50")}
LAST = "last"
"""The index of the server that replied last, for each message. Although the index is not a latency, it is stored with
the latencies."""


def by_server(pair: Pair) -> Pieces:
    """Return the latencies `roundtrip 0`, `held 0`, … in nanoseconds. For parallel calls, the dict also says which
    server answered last. Return an empty dict unless the pattern is scatter."""
    if pair.cell.axes.pattern != "scatter":
        return {}
    cut = trim_slice(pair)
    pieces: Pieces = {}
    for number, (lane, end) in enumerate(zip(pair.lanes, pair.ends, strict=True)):
        held = hold(end)[cut]
        pieces[f"roundtrip {number}"] = [minus(lane.replied[cut], lane.sent[cut])]
        pieces[f"held {number}"] = [held[held != NONE_NS]]
    if pair.cell.axes.dispatch == "parallel":
        replied = np.stack([lane.replied[cut] for lane in pair.lanes])
        pieces[LAST] = [replied.argmax(axis=0)[(replied != NONE_NS).all(axis=0)]]
    return pieces


def lost_by_server(pair: Pair) -> Counter[str]:
    """Count each server's requests without a reply, under the names `roundtrip 0`, …. The counter is empty unless the
    pattern is scatter."""
    if pair.cell.axes.pattern != "scatter":
        return Counter()
    cut = trim_slice(pair)
    return Counter(
        {f"roundtrip {n}": count_lost(lane.replied[cut], lane.sent[cut]) for n, lane in enumerate(pair.lanes)}
    )


def columns(cell: Cell, trials: Sequence[Pieces], missing: Callable[[str], Sequence[int]]) -> dict[str, Any]:
    """Return the `servers_…` columns. Return no columns unless the pattern is scatter.

    For each trial, `missing(name)` returns the number of messages that lack the latency `name`.
    """
    if cell.axes.pattern != "scatter":
        return {}
    found: dict[str, Any] = {}
    for latency, statistics in STATISTICS.items():
        names = [f"{latency} {number}" for number in range(cell.axes.sinks)]
        each = [summary("", [trial.get(name, []) for trial in trials], missing(name), ()) for name in names]
        for statistic in statistics:
            found[f"servers_{latency}_{statistic}_us"] = [one.get(f"_{statistic}_us") for one in each]
    return found | {"servers_last_share": _shares(cell, trials)}


def _shares(cell: Cell, trials: Sequence[Pieces]) -> list[float] | None:
    pieces = [piece for trial in trials for piece in trial.get(LAST, [])]
    messages = sum(map(len, pieces))
    if not messages:
        return None
    counts = np.bincount(np.concatenate(pieces), minlength=cell.axes.sinks)
    return [int(count) / messages for count in counts]
