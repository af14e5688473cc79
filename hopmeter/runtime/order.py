"""The order of trials: in rounds, every cell once a round, each round shuffled; so a drift of the machine hits all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from hopmeter.model.cell import Cell


@dataclass(frozen=True)
class Turn:
    """One trial in its place."""

    cell: Cell
    trial: int
    order: int
    seed: int
    """Of what is drawn at random within the trial."""


def turns(cells: Sequence[Cell], seed: int) -> list[Turn]:
    """All trials of these cells; the same seed gives the same order."""
    draw = random.Random(seed)
    shuffled: list[tuple[Cell, int]] = []
    for trial in range(max((cell.schedule.trials for cell in cells), default=0)):
        in_round = [(cell, trial) for cell in cells if trial < cell.schedule.trials]
        draw.shuffle(in_round)
        shuffled += in_round
    return [Turn(cell, trial, order, draw.getrandbits(63)) for order, (cell, trial) in enumerate(shuffled)]
