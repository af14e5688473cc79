"""Read the samples of a row, for both tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.arrivals import Times, count_lost, minus
from hopmeter.analysis.latency.latencies import count_missing, latencies, trim_slice
from hopmeter.analysis.latency.pair import Pair
from hopmeter.analysis.latency.paths import path_times
from hopmeter.analysis.latency.trial_pairs import pairs
from hopmeter.analysis.results.run_results import Row
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import NONE_NS, Samples

Numbers = NDArray[np.float64]
OnDamage = Callable[[StoreError], None]
"""A function that handles the error if a trial's samples are unreadable."""


def _ignore(_: StoreError) -> None:
    """Ignore damaged samples, because the report already warns of them (environment_rules.damaged_samples)."""


@dataclass(frozen=True)
class Hop:
    """The latencies of one hop, and the number of lost messages."""

    took_us: Numbers
    lost: int

    @classmethod
    def join(cls, parts: Sequence[Hop]) -> Hop:
        """Combine the messages of several receivers or trials."""
        pieces = [each.took_us for each in parts]
        return cls(np.concatenate(pieces) if pieces else np.empty(0), sum(each.lost for each in parts))


@dataclass(frozen=True)
class Trial:
    """The samples of one good trial."""

    number: int
    latency_us: Numbers
    """The headline latencies of all pairs, in µs."""
    due_s: Numbers
    """The due time of each message of the first pair, in seconds after the first message."""
    took_us: Numbers
    """The latency of each message in `due_s`, or infinity for a lost message."""
    hops: tuple[Hop, ...]
    """The messages of each hop, where the last hop combines all sinks."""
    lost: int
    """The number of lost messages, which have no latency."""


@lru_cache(maxsize=64)
def trials(row: Row) -> list[Trial]:
    """Return the good trials of a row. Trials with damaged samples are left out."""
    if row.cell.path:
        return list(_path_trials(row))
    if row.cell.axes.measures_moments:
        return list(_first_messages(row))
    return [_trial(row, number, found) for number, found in _read(row)]


def _first_messages(row: Row) -> Iterator[Trial]:
    """Yield the good trials of a row that measures only the time to the first message."""
    nothing = np.empty(0)
    for trial in row.trials:
        if trial["good"]:
            took_us = trial.get("median_us")
            known = nothing if took_us is None else np.array([took_us])
            yield Trial(trial["trial"], known, nothing, nothing, (), lost=1 - len(known))


def _path_trials(row: Row) -> Iterator[Trial]:
    """Yield the good trials of a path, with reaction times as latencies."""
    for trial in row.trials:
        if trial["good"] and trial.get("samples"):
            try:
                times = path_times(row.cell, row.run.folder / trial["samples"])
            except StoreError:
                continue
            due, took = _over_time(times.due, times.due, times.effect)
            reaction = times.reaction
            yield Trial(trial["trial"], reaction / 1e3, due, took, (), lost=len(times.due) - len(reaction))


def _read(row: Row, on_damage: OnDamage = _ignore) -> Iterator[tuple[int, list[Pair]]]:
    for trial in row.trials:
        if trial["good"] and trial.get("samples"):
            try:
                found = list(pairs(row.cell, Samples(row.run.folder / trial["samples"])))
            except StoreError as damaged:
                on_damage(damaged)
                continue
            yield trial["trial"], found


@dataclass(frozen=True)
class Delivered:
    """The messages of one pair that reached every receiver in one good trial. No messages are trimmed."""

    trial: int
    pair: int
    seq: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    """The due time of each message on the monotonic clock, or its send time if the pace has no schedule."""
    took_ns: NDArray[np.int64]


def delivered_messages(row: Row, on_damage: OnDamage) -> Iterator[Delivered]:
    """Yield every delivered message of a row, each with its headline latency. `on_damage` is called for unreadable
    samples."""
    for trial, found in _read(row, on_damage):
        for number, pair in enumerate(found):
            start, done = _ends(row, pair)
            seq = np.flatnonzero((start != NONE_NS) & (done != NONE_NS))
            yield Delivered(trial, number, seq, start[seq], done[seq] - start[seq])


def _ends(row: Row, pair: Pair) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and end times of the headline latency for each message."""
    return pair.due_times if row.headline == "response" else pair.send_times, pair.completion_times


def _trial(row: Row, number: int, found: list[Pair]) -> Trial:
    pieces = [piece for pair in found for piece in latencies(pair).get(row.headline, [])]
    due, took = _course(row, found[0])
    hops = [_hops(pair) for pair in found] if row.cell.axes.relays else []
    joined = (
        Hop.join([each for pair in hops for each in pair[hop]]) for hop in range(row.cell.axes.hops if hops else 0)
    )
    took_us = np.concatenate(pieces) / 1e3 if pieces else np.empty(0)
    return Trial(number, took_us, due, took, tuple(joined), sum(count_missing(pair)[row.headline] for pair in found))


def _course(row: Row, pair: Pair) -> tuple[Numbers, Numbers]:
    return _over_time(pair.due_times, *_ends(row, pair))


def _over_time(due: Times, start: Times, done: Times) -> tuple[Numbers, Numbers]:
    """Return each message's due time, in seconds after the first message, and its latency in µs. The latency of a lost
    message is infinite."""
    known = (start != NONE_NS) & (due != NONE_NS)
    if not known.any():
        return np.empty(0), np.empty(0)
    took = np.where(done[known] == NONE_NS, np.inf, (done[known] - start[known]) / 1e3)
    return (due[known] - due[known].min()) / 1e9, took


def _hops(pair: Pair) -> list[list[Hop]]:
    """Return the latencies of each hop. The last hop has one entry per sink."""
    cut = trim_slice(pair)
    found: list[list[Hop]] = [[] for _ in range(pair.cell.axes.hops)]
    for place, (arrived, left) in enumerate(pair.hops()):
        hop = Hop(minus(arrived[cut], left[cut]) / 1e3, count_lost(arrived[cut], left[cut]))
        found[min(place, pair.cell.axes.hops - 1)].append(hop)
    return found
