"""Read the latency percentiles of individual trials, from which all comparisons are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.statistics import Observation, pair_turns
from hopmeter.statistics.shares.share_tests import ShareTrial
from hopmeter.store.parquet_rows import read_rows

Values = dict[tuple[str, int], dict[str, Any]]


def values(run: Run) -> Values:
    """Return all rows of `trials.parquet`, keyed by cell id and trial number. The rows include the trials of a
    workload's flows and paths."""
    rows = [*read_rows(run.folder / "trials.parquet"), *run.flow_trials]
    return {(row["cell"], row["trial"]): row for row in rows}


def share_trials(row: Row, trials: Values) -> list[ShareTrial]:
    """For each good trial of a row, return the number of missed deadlines and the round. Return an empty list if the
    run did not record deadlines."""
    own = [trial for (cell, _), trial in trials.items() if cell == row.id and trial["good"]]
    return [
        ShareTrial(row.id, number, trial["missed"], trial["deadlines"], trial.get("steal_share"))
        for number, trial in zip(_rounds(own), own, strict=True)
        if trial.get("deadlines")
    ]


def column(row: Row, metric: str) -> str:
    """Return the name of the column that contains a percentile of the cell's headline latency."""
    return f"{row.headline}_{metric}_us"


def observations(rows: Iterable[Row], trials: Values, metric: str) -> list[Observation]:
    """Return one observation, a latency, for each good trial of the given rows."""
    return [each for row in rows for each in _of_row(row, trials, metric)]


def _of_row(row: Row, trials: Values, metric: str) -> list[Observation]:
    own = [trial for (cell, _), trial in trials.items() if cell == row.id and trial["good"]]
    found = [(number, _value(row, trial, metric), trial) for number, trial in zip(_rounds(own), own, strict=True)]
    return [
        Observation(row.id, number, float(value), trial.get("steal_share"))
        for number, value, trial in found
        if value is not None
    ]


def duet_observations(old: Row, new: Row, trials: Values) -> list[Observation]:
    """Return one observation for each side of each duet, computed from the latencies of neighbouring turns. Return an
    empty list if the run contains no duet."""
    found = []
    earlier, afters = ({trial["round"]: trial for trial in _good_duets(row, trials)} for row in (old, new))
    for number in earlier.keys() & afters.keys():
        both = earlier[number], afters[number]
        values = pair_turns(*(trial["turn_medians_us"] for trial in both)) or ()
        found += [
            Observation(row.id, number, value, trial["steal_share"])
            for row, value, trial in zip((old, new), values, both, strict=False)
        ]
    return found


def _good_duets(row: Row, trials: Values) -> list[dict[str, Any]]:
    return [
        trial
        for (cell, _), trial in trials.items()
        if cell == row.id and trial["good"] and trial.get("turn_medians_us")
    ]


def _value(row: Row, trial: dict[str, Any], metric: str) -> float | None:
    """Return one percentile of a trial's latency.

    A median is returned even for few messages, because the spread between rounds shows how noisy the median is. The p99
    of a flow or path is returned even for few messages, because one flow may send only few messages in a trial.
    """
    if row.cell.workload is not None:
        return trial.get("median_us" if metric == "p50" else f"{metric}_us")
    median = trial.get("median_us") if metric == "p50" else None
    return trial.get(column(row, metric)) if median is None else median


def _rounds(trials: Sequence[dict[str, Any]]) -> list[int]:
    """Return the round of each trial, or the trial number for runs of old versions, which did not record rounds."""
    return [trial["trial"] if trial.get("round") is None else trial["round"] for trial in trials]


def tables(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Group rows by the table in which they are ranked."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.cell.group, []).append(row)
    return found
