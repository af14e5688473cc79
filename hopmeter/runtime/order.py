"""The order of trials: rounds with one trial of every cell, each round shuffled, so that drift affects all cells
alike."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from hopmeter.model.cell import Cell


@dataclass(frozen=True)
class Turn:
    """One trial and its position."""

    cell: Cell
    trial: int
    order: int
    seed: int
    """The seed of everything that is drawn at random within the trial."""


def turns(cells: Sequence[Cell], seed: int) -> list[Turn]:
    """Return all trials of these cells in order; the same seed gives the same order."""
    draw = random.Random(seed)
    shuffled: list[tuple[Cell, int]] = []
    for trial in range(max((cell.schedule.trials for cell in cells), default=0)):
        in_round = [(cell, trial) for cell in cells if trial < cell.schedule.trials]
        draw.shuffle(in_round)
        shuffled += in_round
    return [Turn(cell, trial, order, draw.getrandbits(63)) for order, (cell, trial) in enumerate(shuffled)]
