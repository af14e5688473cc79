"""Compute the percentiles of a single trial, including the median that is used for ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hopmeter.analysis.cells.cell import examine
from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.latency.percentiles import estimate, quantiles
from hopmeter.analysis.latency.trial import Measured
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.store.run_folder import RunFolder

Value = Callable[[Cell, TrialResult], float | None]
"""A function that returns the median headline latency of a trial in µs, or None if the trial has no latency."""


def median_us(folder: RunFolder) -> Value:
    """Return a function that computes a trial's median headline latency, even if the trial has very few messages."""

    def value(cell: Cell, result: TrialResult) -> float | None:
        measured = examine(cell, result, folder).measured
        return headline_percentiles_us(cell, measured, (0.5,))[0] if measured else None

    return value


def percentile_columns(cell: Cell, measured: Measured) -> dict[str, float | None]:
    """Return the percentiles of a trial in µs, keyed by column name of `trials.parquet`.

    A percentile is None if the trial has too few messages. `median_us`, and the `p99_us` of a flow, are computed even
    if there are very few messages.
    """
    names = ("median_us",) if cell.workload is None else ("median_us", "p99_us")
    found = dict(zip(names, headline_percentiles_us(cell, measured, (0.5, 0.99)[: len(names)]), strict=True))
    for name in ("response", "service", "roundtrip"):
        found |= _resolved_percentiles(name, measured)
    return found


def _resolved_percentiles(name: str, measured: Measured) -> dict[str, float | None]:
    pieces = measured.latencies.get(name, [])
    found = quantiles(np.concatenate(pieces), (500, 990), measured.missing[name]) if pieces else [None, None]
    return {f"{name}_{each}_us": value and value / 1000 for each, value in zip(("p50", "p99"), found, strict=True)}


def headline_percentiles_us(cell: Cell, measured: Measured, shares: Sequence[float]) -> list[float | None]:
    """Return percentiles of a trial's headline latency in µs, even if the trial has very few messages. A percentile
    that falls on a lost message is None."""
    pieces = [piece for piece in measured.latencies.get(headline(cell), []) if len(piece)]
    if not pieces:
        return [None] * len(shares)
    found = estimate(np.concatenate(pieces), shares, measured.missing[headline(cell)], reorder=True)
    return [each and each / 1000 for each in found]
