"""Collect the medians and tail percentiles of each cell over all runs of a machine, and find level changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any

from hopmeter.analysis.history.change_points import Change, find_changes, least_length
from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.model.cell import CONDITIONS, table_key

METRICS = ("p50", "p99")
SYSTEM = ("kernel", "distribution", "governor", "clock_source")
"""Machine properties that may explain a change."""


@dataclass(frozen=True)
class Point:
    """The value of one run in a series."""

    row: Row
    value: float
    low: float | None
    high: float | None

    @property
    def run(self) -> Run:
        """The run that measured the value."""
        return self.row.run


@dataclass
class Series:
    """One percentile of one cell on one machine: one value per run, in chronological order."""

    machine: str
    scenario: str
    """The scenario's name. Different scenarios may have trials of different lengths."""
    metric: str
    latest: Row
    """The newest valid row of the cell. All runs in the series have the same conditions."""
    points: list[Point]
    changes: list[Change] = field(default_factory=list)

    @property
    def stretches(self) -> list[list[Point]]:
        """The points of each section between two changes."""
        ends = [0, *(change.index for change in self.changes), len(self.points)]
        return [self.points[low:high] for low, high in pairwise(ends)]

    @property
    def levels(self) -> list[float]:
        """The median of each section between two changes."""
        return [median(point.value for point in stretch) for stretch in self.stretches]

    @property
    def ratios(self) -> list[float]:
        """Each level divided by the previous level."""
        return [after / before for before, after in pairwise(self.levels)]


@dataclass(frozen=True)
class History:
    """All series of a set of runs. The significance of each change is corrected for multiple comparisons across all
    series."""

    runs: list[Run]
    series: list[Series]
    least_runs: int
    """The minimum number of runs needed to detect a change in one series."""

    def of(self, row: Row) -> dict[str, Series]:
        """Return the series of a cell, keyed by metric. `row` must be the cell's newest valid row."""
        return self._of_cell[id(row)]

    @cached_property
    def _of_cell(self) -> dict[int, dict[str, Series]]:
        found: dict[int, dict[str, Series]] = {}
        for each in self.series:
            found.setdefault(id(each.latest), {})[each.metric] = each
        return found

    @property
    def changed_series(self) -> list[Series]:
        """The series with at least one change."""
        return [each for each in self.series if each.changes]

    def groups(self) -> list[Group]:
        """Return the newest row of each cell, grouped by machine, scenario and conditions."""
        found: dict[tuple[Any, ...], list[Row]] = {}
        for each in self.series:
            if each.metric == METRICS[0]:
                found.setdefault((each.machine, each.scenario, *table_key(each.latest)), []).append(each.latest)
        keys = [key[2:] for key in found]
        varied = tuple(name for place, name in enumerate(CONDITIONS) if len({key[place] for key in keys}) > 1)
        origins = _origins([key[:2] for key in found])
        return [
            Group({name: rows[0].get(name) for name in CONDITIONS}, tuple(rows), number, varied, origins[key[:2]])
            for number, (key, rows) in enumerate(found.items(), 1)
        ]


def _origins(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each combination of machine and scenario. The name omits the machine or the scenario if all
    combinations have the same one."""
    several = [len({pair[place] for pair in pairs}) > 1 for place in (0, 1)]
    return {pair: ", ".join(word for word, differs in zip(pair, several, strict=True) if differs) for pair in pairs}


def history(runs: Sequence[Run]) -> History:
    """Return the series of all cells. `runs` must be in chronological order."""
    series = [
        Series(machine, scenario, metric, rows[-1], points)
        for (machine, scenario, *_), rows in _rows(runs).items()
        for metric in METRICS
        if (points := list(_points(rows, metric)))
    ]
    for each, changes in zip(series, find_changes([_values(each) for each in series]), strict=True):
        each.changes = changes
    return History(list(runs), series, least_length(len(series)))


def _values(series: Series) -> list[float]:
    """Return the values of a series, or the logarithms of the values if all values are positive. Logarithms have more
    uniform noise, because the noise of latencies is multiplicative."""
    values = [point.value for point in series.points]
    return [math.log(value) for value in values] if min(values) > 0 else values


def _rows(runs: Sequence[Run]) -> dict[tuple[Any, ...], list[Row]]:
    """Return the valid rows of each cell on each machine, sorted by machine, conditions and scenario.

    In a run with `--against`, the old version's rows are left out, because no other run measures that version.
    """
    found: dict[tuple[Any, ...], list[Row]] = {}
    machines = machine_names.machines(runs)
    for run in runs:
        for row in run.rows:
            if row.ok and row["side"] != "old":
                found.setdefault((machines[id(run)], run.text("scenario_name"), *_identity(row)), []).append(row)
    return dict(sorted(found.items(), key=_order))


def _identity(row: Row) -> tuple[Any, ...]:
    """Return the values that identify a cell across runs."""
    return row["transport"], row["language"], row["profile"], row["alongside"] or "", row.headline, *table_key(row)


def _order(item: tuple[tuple[Any, ...], list[Row]]) -> tuple[Any, ...]:
    (machine, scenario, *names), row = item[0], item[1][-1]
    size = (row["payload_bytes"] or 0, row["rate_hz"] or 0.0)
    return machine, *size, [str(each) for each in names[5:]], scenario, [str(each) for each in names[:5]]


def _points(rows: Sequence[Row], metric: str) -> Iterator[Point]:
    for row in rows:
        value = row.p50 if metric == "p50" else row.tail(metric)
        if value is not None:
            yield Point(row, value, row.latency(f"{metric}_low"), row.latency(f"{metric}_high"))


def differences(before: Row, after: Row) -> list[str]:
    """Return which versions and operating-system properties differ between the runs before and after a change."""
    versions = [
        (f"{before['transport']}", before["library_version"], after["library_version"]),
        ("hopmeter", before.run.text("hopmeter"), after.run.text("hopmeter")),
    ]
    machines = before.run.part("machine"), after.run.part("machine")
    system = [(name.replace("_", " "), *(each.get(name) for each in machines)) for name in SYSTEM]
    return [f"{name} {old} → {new}" for name, old, new in [*versions, *system] if old and new and old != new]
