"""The turns of a duet: the median of the messages of each turn."""

from __future__ import annotations

import numpy as np

from hopmeter.analysis.pair import Pair
from hopmeter.analysis.reading import pairs
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.duets import SIDES
from hopmeter.store import RunFolder
from hopmeter.store.samples import NONE_NS, Samples, Times


def turn_medians_us(cell: Cell, trial: TrialResult, folder: RunFolder) -> list[float | None] | None:
    """Return the median response of each turn of this side, from its first turn on; None if the trial is no duet.

    A turn without messages has None: warm-up messages fill the first turns. Raises StoreError if samples are damaged.
    """
    if not trial.good or trial.turn_s is None:
        return None
    found = [_turns_and_responses(pair, trial) for pair in pairs(cell, Samples(folder.path / trial.samples))]
    turns, took_ns = (np.concatenate(each) for each in zip(*found, strict=True))
    of_turn = [took_ns[turns == turn] for turn in range(int(turns.max(initial=-1)) + 1)]
    return [float(np.median(each)) / 1000 if len(each) else None for each in of_turn]


def _turns_and_responses(pair: Pair, trial: TrialResult) -> tuple[Times, Times]:
    """Return the turn and the response of each message that reached every receiver."""
    due, done = pair.intended_times, pair.completion_times
    known = (due != NONE_NS) & (done != NONE_NS)
    turn_ns = round((trial.turn_s or 0.0) * 1e9)
    return (due[known] - trial.start_ns) // turn_ns // SIDES, done[known] - due[known]
