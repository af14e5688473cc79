"""A history in words: which cells changed, when they changed, and which versions were new at that time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hopmeter.analysis.history.cell_history import History, Series, differences
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.words import conditions, formatting

SHARED = 0.5
"""If at least this share of a machine's cells change at one run, the machine itself is the likely cause."""
MOST = 8
"""The maximum number of changed cells listed above the tables."""
FEWEST = 4
"""If fewer cells than this change at a run, the machine is not named as the cause."""


def cell_name(row: Row) -> str:
    """Return a cell's name, such as `zeromq (python) hwm=1000`."""
    return " ".join(filter(None, [formatting.row_name(row), str(row["profile"] or "")]))


def sentences(history: History) -> list[str]:
    """Return sentences on how many cells changed, on machines that probably changed, and on each changed cell."""
    return [*summary(history), *_cell_sentences(history)]


def summary(history: History) -> list[str]:
    """Return sentences on how many cells changed, and on runs at which the machine probably changed."""
    if not history.series:
        return ["No cell of these runs has a valid latency."]
    return [_count(history), *_machine_sentences(history)]


def _count(history: History) -> str:
    cells, changed = _cells(history.series), _cells(history.changed_series)
    longest = max(len(each.points) for each in history.series)
    if longest < history.least_runs:
        return (
            f"Too few runs to detect a change: with {formatting.plural(len(history.series), 'series', 'series')}, each "
            f"needs {history.least_runs} runs; the longest has {longest}."
        )
    if not changed:
        return f"None of {formatting.plural(cells, 'cell')} changed significantly."
    return f"{changed} of {formatting.plural(cells, 'cell')} changed significantly."


def _cells(series: Iterable[Series]) -> int:
    return len({id(each.latest) for each in series})


def _machine_sentences(history: History) -> list[str]:
    """Return sentences on runs at which many medians changed at once, probably because the machine changed."""
    medians = [each for each in history.series if each.metric == "p50"]
    cells = Counter(each.machine for each in medians)
    changed = Counter((each.machine, each.points[change.index].run.name) for each in medians for change in each.changes)
    return [
        f"{many} of {cells[machine]} cells on {machine} changed at {run}: first check whether the machine changed."
        for (machine, run), many in changed.items()
        if many >= FEWEST and many >= SHARED * cells[machine]
    ]


def _cell_sentences(history: History) -> list[str]:
    titles = {id(row): conditions.title(group) for group in history.groups() for row in group.rows}
    changes: dict[int, list[str]] = {}
    for each in history.changed_series:
        changes.setdefault(id(each.latest), []).extend(changes_in_words(each))
    rows = {id(each.latest): each.latest for each in history.changed_series}
    found = [f"{cell_name(row)}, {titles[key]}: {'; '.join(changes[key])}." for key, row in rows.items()]
    return formatting.first(found, MOST, "other changed cell is below.", "other changed cells are below.")


def changes_in_words(series: Series) -> list[str]:
    """Return a text for each change of a series, such as `p50 1.31× since 2026-11-21T041200-quick (zeromq 4.3.4 →
    4.3.5)`."""
    return [_change_in_words(series, place) for place in range(len(series.changes))]


def _change_in_words(series: Series, place: int) -> str:
    index = series.changes[place].index
    before, after = series.points[index - 1].row, series.points[index].row
    new = ", ".join(differences(before, after))
    since = f"{series.metric} {formatting.times(series.ratios[place])} since {after.run.name}"
    return f"{since} ({new})" if new else since
