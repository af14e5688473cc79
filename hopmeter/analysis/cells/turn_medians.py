"""Compute the median latency of each turn of a duet."""

from __future__ import annotations

import numpy as np

from hopmeter.analysis.latency.pair import Pair
from hopmeter.analysis.latency.percentiles import estimate
from hopmeter.analysis.latency.trial_pairs import pairs
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.duets import SIDES
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.samples import NONE_NS, Samples, Times


def turn_medians_us(cell: Cell, trial: TrialResult, folder: RunFolder) -> list[float | None] | None:
    """Return the median response time, in µs, of each turn of one side of a duet, or None if the trial is not part of a
    duet.

    The median of a turn without messages is None. The median of a turn that contains only warm-up messages is None.
    Raises StoreError if the samples are damaged.
    """
    if not trial.good or trial.turn_s is None:
        return None
    found = [_turns_and_responses(pair, trial) for pair in pairs(cell, Samples(folder.path / trial.samples))]
    turns, took_ns = (np.concatenate(each) for each in zip(*found, strict=True))
    of_turn = [took_ns[turns == turn] for turn in range(int(turns.max(initial=-1)) + 1)]
    return [_median_us(each) for each in of_turn]


def _median_us(took_ns: Times) -> float | None:
    """Return the median latency of one turn in µs, or None if the turn has no messages or the median falls on a lost
    message."""
    arrived = took_ns[took_ns != NONE_NS]
    (found,) = estimate(arrived, (0.5,), len(took_ns) - len(arrived))
    return found and found / 1000


def _turns_and_responses(pair: Pair, trial: TrialResult) -> tuple[Times, Times]:
    """Return the turn number and the response time of each message. The response time is NONE_NS if the message did not
    reach every receiver."""
    due, done = pair.due_times, pair.completion_times
    known = due != NONE_NS
    turn_ns = round((trial.turn_s or 0.0) * 1e9)
    took_ns = np.where(done[known] == NONE_NS, NONE_NS, done[known] - due[known])
    return (due[known] - trial.start_ns) // turn_ns // SIDES, took_ns
