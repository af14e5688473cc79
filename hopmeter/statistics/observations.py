"""Arrange the trials of one table as arrays, with one row per cell and one column per round."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Scale = Literal["ratio", "difference"]


@dataclass(frozen=True)
class Observation:
    """One trial of a cell: a latency percentile in µs, and the share of CPU time that the hypervisor stole from the
    machine.

    `steal` is between 0 and 1, or None or NaN if the machine does not report stolen CPU time. An observation with a
    `value` of NaN is ignored.
    """

    cell: str
    round: int
    value: float
    steal: float | None = None


@dataclass(frozen=True)
class Table:
    """The values and steal shares of all trials, as arrays with the axes cell and round. `known` is a mask that is true
    for trials that exist.

    If the scale is `ratio`, `values` contains logarithms.
    """

    cells: tuple[str, ...]
    rounds: tuple[int, ...]
    values: Floats
    steal: Floats
    known: NDArray[np.bool_]
    scale: Scale


def make_table(observations: Iterable[Observation], scale: Scale | None = None) -> Table:
    """Arrange observations as a table. If a cell has several trials in one round, their values are averaged.

    If `scale` is None, the scale is `ratio` for tables with only positive values, otherwise `difference`.
    """
    usable = [each for each in observations if math.isfinite(each.value)]
    cells = tuple(dict.fromkeys(each.cell for each in usable))
    rounds = tuple(sorted({each.round for each in usable}))
    scale = scale or ("ratio" if all(each.value > 0 for each in usable) else "difference")
    values, steal, counts = _sums(usable, cells, rounds, scale)
    known = counts > 0
    divisor = np.maximum(counts, 1)
    return Table(cells, rounds, values / divisor, steal / divisor, known, scale)


def _sums(
    usable: Sequence[Observation], cells: Sequence[str], rounds: Sequence[int], scale: Scale
) -> tuple[Floats, Floats, Floats]:
    rows, columns = ({name: at for at, name in enumerate(each)} for each in (cells, rounds))
    values, steal, counts = np.zeros((3, len(cells), len(rounds)))
    for each in usable:
        place = rows[each.cell], columns[each.round]
        values[place] += math.log(each.value) if scale == "ratio" else each.value
        steal[place] += _share(each.steal)
        counts[place] += 1
    return values, steal, counts


def _share(steal: float | None) -> float:
    """Return the steal share, clipped to the range from 0 to 1, or 0 if the share is unknown."""
    return min(max(steal, 0.0), 1.0) if steal is not None and math.isfinite(steal) else 0.0
