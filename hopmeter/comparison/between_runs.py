"""Compare runs that were measured at different times. A comparison of two single runs gives no verdict; a comparison
with a baseline does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.comparison import matching, trial_values
from hopmeter.comparison.change import UNDECIDED, Change, Estimate, Side, judge, without_value
from hopmeter.comparison.matching import Key
from hopmeter.messages import tag
from hopmeter.statistics import fit
from hopmeter.statistics.ranking import ALPHA, Bounds, quantile
from hopmeter.statistics.runs import compare_runs

SINGLE = tag(
    "W-SINGLE-RUNS",
    "the machine drifts from run to run, and only a baseline shows by how much",
)
OTHER_MACHINE = "measure both sides on one machine; `hopmeter report A B` shows whether two machines agree on the order"
LACKING = tag("W-BASELINE-CELL", "not every run of the baseline has a good trial of this cell")


@dataclass(frozen=True)
class Level:
    """A cell's latency level in one run, in µs, and the variance of the level's logarithm, estimated from the run's
    trials."""

    value: float
    variance: float
    clock_us: float = 0.0
    """The maximum error of the level, in µs, due to clock offsets between hosts. The clock error differs from run to
    run."""

    @classmethod
    def of(cls, bounds: Bounds, rounds: int, clock_us: float = 0.0) -> Level:
        """Return the latency level of a ranked cell. The variance is computed from the confidence interval, which must
        not include the clock error."""
        value, _, high = bounds
        if high is None or value <= 0:
            return cls(value, math.nan, clock_us)
        return cls(value, (math.log(high / value) / quantile(ALPHA, rounds - 1)) ** 2, clock_us)

    @property
    def clock_errors(self) -> tuple[float, float]:
        """Return how much clock errors may increase and how much they may decrease the logarithm of the latency
        level."""
        least = self.value - self.clock_us
        return math.log(self.value / least) if least > 0 else math.inf, math.log1p(self.clock_us / self.value)


Levels = dict[Key, Level]


@dataclass(frozen=True)
class Runs:
    """One side of a comparison: a single run, or the runs of a baseline."""

    name: str
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class _Measured:
    """The result rows and latency levels of each run on one side of a comparison, by cell."""

    rows: list[dict[Key, Row]]
    levels: list[Levels]

    @classmethod
    def of(cls, side: Runs, metric: str) -> _Measured:
        return cls([matching.rows_by_key(run) for run in side.runs], [_levels(run, metric) for run in side.runs])


def compare(old: Runs, new: Runs, metric: str = "p50") -> list[Change]:
    """Return how each cell changed between the old and the new side, table by table.

    Raises UsageError if the runs come from different machines or have no cell in common.
    """
    matching.check_machine([*old.runs, *new.runs], OTHER_MACHINE)
    before, after = _Measured.of(old, metric), _Measured.of(new, metric)
    matching.check_common(before.rows, after.rows, (old.name, new.name))
    decides = len(old.runs) + len(new.runs) > 2
    changes: list[Change] = []
    for keys in _tables([*before.rows, *after.rows]).values():
        table = [_change(key, before, after, metric) for key in keys]
        changes += judge(_estimate(keys, table, before, after)) if decides else [_leave_open(each) for each in table]
    return changes


def detectable(side: Runs, metric: str = "p50") -> list[float]:
    """For each cell that occurs in all runs, return the smallest latency ratio that one more run would detect with a
    probability of 80 %."""
    measured = _Measured.of(side, metric)
    common = set.intersection(*(set(run) for run in measured.levels))
    tables = _tables(measured.rows).values()
    return [each for keys in tables for each in _detectable([key for key in keys if key in common], measured)]


def _detectable(keys: Sequence[Key], measured: _Measured) -> list[float]:
    levels = [[run[key].value for key in keys] for run in measured.levels]
    if not keys or np.min(levels) <= 0:
        return []
    runs = np.log(levels)
    within = np.asarray([[run[key].variance for key in keys] for run in measured.levels])
    result = compare_runs(runs, runs.mean(axis=0, keepdims=True), within)
    estimates = zip(result.differences, result.errors, result.freedoms, strict=True)
    return [Estimate(*map(float, each)).detectable(ALPHA / len(keys)) for each in estimates]


def drift(changes: Iterable[Change]) -> dict[str, float]:
    """For each control cell, return the new latency divided by the old latency, keyed by the cell's name. Control cells
    show how much the machine itself changed between the runs."""
    return {each.name: each.ratio for each in changes if each.is_control and each.ratio is not None}


def _levels(run: Run, metric: str) -> Levels:
    """Return each cell's latency level in one run. The level is the median that the run's table shows or, for a
    percentile other than the median, a level fitted to the trials."""
    measured = matching.rows_by_key(run)
    if metric == "p50" and any(row["rounds"] is not None for row in measured.values()):
        return {key: _shown_level(row) for key, row in measured.items() if row["rounds"] is not None and row.ok}
    trials = trial_values.values(run)
    found: Levels = {}
    for rows in trial_values.tables(measured.values()).values():
        ranking = fit(trial_values.observations(rows, trials, metric))
        known = [row for row in rows if row.id in ranking.levels]
        found |= {
            matching.key(row.cell): Level.of(ranking.levels[row.id], ranking.rounds[row.id], _clock_us(row))
            for row in known
        }
    return found


def _shown_level(row: Row) -> Level:
    high = row["median_high_us"]
    without_clocks = None if high is None else high - _clock_us(row)
    return Level.of((row.number("median_us"), row["median_low_us"], without_clocks), row["rounds"] or 0, _clock_us(row))


def _clock_us(row: Row) -> float:
    return row["clock_uncertainty_us"] or 0.0


def _tables(rows: Iterable[dict[Key, Row]]) -> dict[str, list[Key]]:
    found: dict[str, list[Key]] = {}
    for key, row in {key: row for run in rows for key, row in run.items()}.items():
        found.setdefault(row.cell.group, []).append(key)
    return found


def _change(key: Key, before: _Measured, after: _Measured, metric: str) -> Change:
    row = next(run[key] for run in (*after.rows, *before.rows) if key in run)
    old, new = _side(key, before), _side(key, after)
    found, reason = without_value(old, new)
    change = Change(row, trial_values.column(row, metric), old, new, reason=reason)
    return replace(change, verdict=found or UNDECIDED, is_control=matching.is_control(row.cell))


def _side(key: Key, side: _Measured) -> Side | None:
    """Return the old or the new side of a cell's comparison, or None if no run of that side has the cell. The value of
    a side is the geometric mean of the cell's latency levels in the runs of that side."""
    own = [run[key] for run in side.rows if key in run]
    values = [run[key].value for run in side.levels if key in run]
    if not own:
        return None
    mean = math.exp(sum(map(math.log, values)) / len(values)) if values and min(values) > 0 else None
    return Side.of(own, mean)


def _leave_open(change: Change) -> Change:
    """Return the change of a cell, marked as undecided because two single runs give no verdict."""
    return change if change.reason or change.verdict != UNDECIDED else replace(change, reason=SINGLE)


def _estimate(keys: Sequence[Key], table: Sequence[Change], before: _Measured, after: _Measured) -> list[Change]:
    """Estimate the undecided change of each cell that occurs in all runs. For each undecided change without an
    estimate, give the reason."""
    runs = [*before.levels, *after.levels]
    is_open = [each.verdict == UNDECIDED and not each.reason for each in table]
    usable = [
        at for at, key in enumerate(keys) if is_open[at] and all(key in run and run[key].value > 0 for run in runs)
    ]
    found = [replace(each, reason=LACKING) if is_open[at] else each for at, each in enumerate(table)]
    if not usable:
        return found
    old, new = (np.log([[run[keys[at]].value for at in usable] for run in side.levels]) for side in (before, after))
    result = compare_runs(old, new, np.asarray([[run[keys[at]].variance for at in usable] for run in runs]))
    for place, at in enumerate(usable):
        difference, error, freedom = (
            float(each[place]) for each in (result.differences, result.errors, result.freedoms)
        )
        below, above = _clock_errors(keys[at], before.levels, after.levels)
        found[at] = replace(table[at], estimate=Estimate(difference, error, freedom, below, above))
    return found


def _clock_errors(key: Key, old: Sequence[Levels], new: Sequence[Levels]) -> tuple[float, float]:
    """Return how much clock errors may increase and how much they may decrease the logarithm of new / old latency. The
    clock error differs from run to run."""
    (old_high, old_low), (new_high, new_low) = (
        np.mean([run[key].clock_errors for run in side], axis=0) for side in (old, new)
    )
    return float(new_high + old_low), float(new_low + old_high)
