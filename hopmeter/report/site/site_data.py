"""Runs and cells as JSON data, which the site's page filters and draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hopmeter.analysis.history.cell_history import History, Series
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report import run_page
from hopmeter.report.words import conditions, formatting
from hopmeter.report.words.history_words import changes_in_words
from hopmeter.report.words.pace_words import rate_words

FILTERS = ("payload", "rate", "transport", "language", "scenario", "machine")
"""The cell properties that the reader can filter by."""


def site_data(history: History, pages: Mapping[int, str]) -> dict[str, Any]:
    """Return the data of the site. `pages` maps the `id` of a run object to the path of the run's page."""
    places = {id(run): place for place, run in enumerate(history.runs)}
    cells = [_cell(history, group, row, places) for group in history.groups() for row in group.rows]
    return {
        "filters": FILTERS,
        "runs": [
            {
                "name": run.name,
                "page": pages[id(run)],
                "scenario": run_page.scenario(run),
                "day": run.text("started")[:10],
            }
            for run in history.runs
        ],
        "cells": sorted(cells, key=lambda cell: cell["order"]),
    }


def _cell(history: History, group: Group, row: Row, places: Mapping[int, int]) -> dict[str, Any]:
    series = history.of(row)
    one = next(iter(series.values()))
    values = {
        metric: {places[id(point.run)]: _short(point.value) for point in each.points} for metric, each in series.items()
    }
    runs = sorted(values["p50"])
    return {
        "payload": conditions.payload_name(row),
        "rate": rate_words(row.cell.axes) or str(row["pace"]),
        "transport": str(row["transport"]),
        "language": str(row["language"]),
        "scenario": one.scenario,
        "machine": one.machine,
        "rank": _rank(row),
        "intervals": {metric: formatting.interval(*row.interval(metric)) for metric in values},
        "settings": ", ".join(filter(None, [str(row["profile"] or ""), "" if row.recommendable else "reference"])),
        "variation": ", ".join(conditions.variations(group)),
        "conditions": ", ".join([conditions.title(group), *conditions.chips(group)]),
        "runs": runs,
        **{metric: [known.get(run) for run in runs] for metric, known in values.items()},
        "changes": [change for each in series.values() for change in _changes(each, places)],
        "order": [row["payload_bytes"] or 0, row["rate_hz"] or 0, one.scenario, group.number, values["p50"][runs[-1]]],
    }


def _rank(row: Row) -> str:
    """Return the rank of a row in the newest run that contains the row, such as `1–3`, or an empty string without a
    rank."""
    ends = formatting.distinct(str(row[name] or "") for name in ("rank_low", "rank_high"))
    return "–".join(ends)


def _changes(series: Series, places: Mapping[int, int]) -> list[dict[str, Any]]:
    words = changes_in_words(series)
    return [
        {"metric": series.metric, "run": places[id(series.points[change.index].run)], "words": text}
        for change, text in zip(series.changes, words, strict=True)
    ]


def _short(value: float) -> float:
    """Round a value to four significant digits, the precision that the page shows."""
    return float(f"{value:.4g}")
