"""The history of each cell over all runs of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from hopmeter.analysis.history import cell_history as histories
from hopmeter.analysis.history.cell_history import History, Series, differences
from hopmeter.analysis.history.run_collection import read_runs
from hopmeter.analysis.results.run_results import Run
from hopmeter.api import tables
from hopmeter.api.options import split_words
from hopmeter.api.runs import RunPath
from hopmeter.model.cell import CONDITIONS
from hopmeter.store.schemas import table
from hopmeter.system import paths


def history(*places: RunPath, transport: str | Iterable[str] = (), language: str | Iterable[str] = ()) -> pa.Table:
    """Return the median and p99 of each cell in each run below the directories `places`, by default `results`.

    `level` is the median of the runs between two changes. In the first run after a change, `change` is the ratio of the
    new to the old level. In a run that does not directly follow a change, `change` is null. The significance of each
    change is corrected for multiple comparisons across all returned transports and languages.
    """
    found = read_history([Path(each) for each in places], _as_list(transport), _as_list(language))
    return table((row for each in found.series for row in _rows(series_json(each))), tables.HISTORY)


def read_history(places: Sequence[Path], transport: Sequence[str], language: Sequence[str]) -> History:
    """Read all runs below the directories `places`, and detect changes."""
    runs = read_runs(places or [paths.results()], trials=False)
    wanted = {"transport": split_words("transport", transport), "language": split_words("language", language)}
    _choose(runs, wanted)
    return histories.history(runs)


def _choose(runs: list[Run], wanted: dict[str, list[str]]) -> None:
    """Remove the rows of other transports and languages, so that the correction for multiple comparisons covers only
    the rows shown."""
    for run in runs:
        run.rows = [
            row for row in run.rows if all(not words or row.get(name) in words for name, words in wanted.items())
        ]


def _rows(series: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a table row for each point of a cell's history."""
    changes = {each["run"]: each["ratio"] for each in series["changes"]}
    for point in series["points"]:
        yield series | point | {"change": changes.get(point["run"])}


def _as_list(words: str | Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def series_json(series: Series) -> dict[str, Any]:
    """Return the points and changes of a cell's history in JSON form."""
    row = series.latest
    names = ("transport", "language", "profile", *CONDITIONS)
    return {
        "machine": series.machine,
        "scenario": series.scenario,
        **{name: row.get(name) for name in names},
        "metric": f"{row.headline}_{series.metric}_us",
        "points": [
            _point(point, level)
            for stretch, level in zip(series.stretches, series.levels, strict=True)
            for point in stretch
        ],
        "changes": [_change(series, place) for place in range(len(series.changes))],
    }


def _point(point: histories.Point, level: float) -> dict[str, Any]:
    values = {"value": point.value, "low": point.low, "high": point.high, "level": level}
    return {"run": point.run.name, "started": point.run.text("started"), **values}


def _change(series: Series, place: int) -> dict[str, Any]:
    change = series.changes[place]
    before, after = (series.points[index].row for index in (change.index - 1, change.index))
    return {
        "run": after.run.name,
        "ratio": series.ratios[place],
        "p": change.p,
        "new": differences(before, after),
    }
