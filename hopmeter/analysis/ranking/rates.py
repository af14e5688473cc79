"""Rank the transports of a repeated search by their highest rates, round by round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from hopmeter.analysis.ranking.ranked_cells import choices
from hopmeter.analysis.ranking.rounds import TableRanking
from hopmeter.model.cell import Cell
from hopmeter.plan.search import FLOOD, rate_of_round
from hopmeter.statistics import Observation, Ranking, fit

Values = Mapping[str, Any]


def repeated_searches(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Return the cells of each repeated search, keyed by the id of the search's first cell, in which the source sends
    as fast as possible (the flood)."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.comparison.search_round is not None and not cell.dropped:
            found.setdefault(cell.comparison.search, []).append(cell)
    return found


def rates_by_round(steps: Iterable[Cell], rows: Mapping[str, Values]) -> dict[int, float]:
    """Return the highest sustainable rate in Hz that each finished round of a search found. `rows` maps each cell to
    its results, which include the column `search_failed`."""
    verdicts: dict[int, dict[float, bool]] = {}
    for step in steps:
        number, row = step.comparison.search_round, rows[step.id]
        if number and row["status"] != "dropped":
            verdicts.setdefault(number, {})[row["rate_hz"]] = row["search_failed"] is None
    found = {number: rate_of_round(each) for number, each in verdicts.items()}
    return {number: rate for number, rate in found.items() if rate}


def rank_rates(cells: Iterable[Cell], rows: Mapping[str, Values], trials: Sequence[Values]) -> dict[str, TableRanking]:
    """Return the ranking of each table of repeated searches, keyed by table id.

    An observation is the time per message in µs at the highest rate of a round, so that less is better, as with
    latencies. The ratio of two times is the inverse ratio of the rates.
    """
    tables: dict[str, list[tuple[Cell, list[Observation]]]] = {}
    steal = _steal_shares(trials)
    for steps in repeated_searches(cells).values():
        tables.setdefault(steps[0].group, []).append((steps[0], _observations(steps, rows, steal)))
    found = {group: TableRanking(group, _rank_table(table)) for group, table in tables.items()}
    return {group: ranking for group, ranking in found.items() if ranking.ranking.cells}


def _rank_table(table: Sequence[tuple[Cell, Sequence[Observation]]]) -> Ranking:
    """Fit one model to a table. If a table contains only transports that are normally not ranked, rank all of them."""
    cells = [cell for cell, _ in table]
    ranked = {cell.id for cell in choices(cells) or cells}
    seen = [each for _, observations in table for each in observations]
    return fit(seen, references={cell.id for cell in cells} - ranked)


def _observations(steps: Sequence[Cell], rows: Mapping[str, Values], steal: Mapping[str, float]) -> list[Observation]:
    stolen: dict[int, list[float]] = {}
    for step in steps:
        if step.id in steal:
            stolen.setdefault(step.comparison.search_round or FLOOD, []).append(steal[step.id])
    return [
        Observation(steps[0].id, number, 1e6 / rate, fmean(stolen[number]) if number in stolen else None)
        for number, rate in rates_by_round(steps, rows).items()
    ]


def _steal_shares(trials: Sequence[Values]) -> dict[str, float]:
    """Return the share of CPU time that was stolen in the last trial of each cell. A step of a search has one trial."""
    return {trial["cell"]: trial["steal_share"] for trial in trials if trial.get("steal_share") is not None}
