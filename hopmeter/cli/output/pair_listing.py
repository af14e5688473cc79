"""The output of `hopmeter show --pairs`: the comparison of each pair of cells in a table."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.text import Text

from hopmeter.analysis.ranking.rounds import Comparison
from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.analysis.workload.workload_ranking import WorkloadRanking
from hopmeter.api.runs import pair_rows
from hopmeter.report.tables.workload import DECIDED_BY
from hopmeter.report.words import conditions, formatting
from hopmeter.statistics import CellPair
from hopmeter.system.tables import open_table, print_whole
from hopmeter.system.terminal import Console

LEGEND = (
    "times as long: the median of the slower cell divided by the median of the faster cell, with the 95 % interval of "
    "this ratio. All intervals between choices hold simultaneously, and so do all intervals with a reference. stopped "
    "early: an earlier interim analysis decided the pair, and its interval is shown."
)
NONE = "The cells of this run have no common rounds to compare. `hopmeter show RUN` prints the interval of each cell."


def show_pairs(run: Run, cell: str, as_json: bool) -> int:
    """Print all pairs of cells, or only the pairs of one cell, and return the exit code. In JSON, `ratio` is the value
    of `b` divided by the value of `a`."""
    if as_json:
        for each in pair_rows(run):
            if cell in ("", each["a"], each["b"]):
                print(json.dumps(each, allow_nan=False))
    else:
        _print_tables(Console(highlight=False), run, _comparisons(run, cell))
    return 0


def _comparisons(run: Run, cell: str) -> dict[str, list[Comparison]]:
    return {
        group: [each for each in table.comparisons if cell in ("", each.a, each.b)]
        for group, table in run.rankings.items()
    }


def _print_tables(console: Console, run: Run, found: Mapping[str, list[Comparison]]) -> None:
    for group in groups([run]):
        if ranking := run.workload_rankings.get(group.rows[0].cell.group):
            _print_workload(console, group, ranking)
        elif comparisons := found.get(group.rows[0].cell.group):
            _print_group(console, group, comparisons)
    console.print()
    console.print(Text(LEGEND if any(found.values()) else NONE, style="dim"))


def _print_group(console: Console, group: Group, comparisons: list[Comparison]) -> None:
    names = {row.id: group.label(row) for row in group.rows}
    table = open_table()
    for head in ("faster", "slower", "times as long", "", "family"):
        table.add_column(head, no_wrap=True)
    for each in comparisons:
        ratio = f"{formatting.number(each.ratio)} {formatting.ratio_bracket(each.low, each.high)}"
        table.add_row(names[each.a], names[each.b], ratio, _decision(each), each.family)
    console.print()
    console.print(Text(conditions.title(group), style="bold cyan"))
    print_whole(console, table)


def _print_workload(console: Console, group: Group, ranking: WorkloadRanking) -> None:
    """Print the comparison of each pair of transports for a whole workload, by criterion."""
    names = {row.id: group.label(row) for row in group.rows}
    table = open_table()
    for head in ("better", "other", "criterion", "difference", ""):
        table.add_column(head, no_wrap=True)
    for criterion, pair in ranking.all_pairs:
        decides = ranking.decides(pair.a, pair.b)
        said = "decided" if decides == criterion else f"decided by {decides}" if decides else "not decided"
        table.add_row(names[pair.a], names[pair.b], DECIDED_BY[criterion], _size(pair), said)
    console.print()
    console.print(Text(conditions.title(group), style="bold cyan"))
    print_whole(console, table)


def _size(pair: CellPair) -> str:
    """Return a pair's ratio with its interval. For missed deadlines, return the difference in percentage points."""
    if pair.ratio is not None:
        return f"{formatting.number(pair.ratio)}× {formatting.ratio_bracket(pair.low, pair.high)}"
    points, *ends = (None if each is None else 100 * each for each in (pair.difference, pair.low, pair.high))
    return f"{formatting.number(points)} points {formatting.bracket(*ends)}"


def _decision(pair: Comparison) -> str:
    decision = "decided" if pair.decided else "not decided"
    return f"{decision}, stopped early" if pair.stopped_early else decision
