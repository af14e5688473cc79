"""Rank whole workloads by three criteria in order: missed deadlines, the worst p99 of any flow, and CPU use.

Each criterion tests only the pairs that no earlier criterion has separated by a significant difference. The criteria
share the 5 % significance level equally, because each criterion may separate equal transports by chance. docs/method.md
has the rule and its error rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from hopmeter.analysis.ranking.ranked_cells import choices
from hopmeter.analysis.ranking.rounds import round_numbers
from hopmeter.analysis.workload.worst_flow import WorstFlows
from hopmeter.model.cell import Cell
from hopmeter.statistics import CellPair, Observation
from hopmeter.statistics.criteria import Decisions, Ids, decide_in_order, ranks_of, share_level
from hopmeter.statistics.ranking import ALPHA, fit
from hopmeter.statistics.shares.share_tests import ShareTrial, can_differ, compare_shares
from hopmeter.statistics.single_pairs import judge_pairs

Values = Mapping[str, Any]
DEADLINES, TAIL, CPU = "deadlines", "p99", "cpu"
ENDS = ("missed_least", "missed_most")
"""The columns with the fewest and the most missed deadlines that the clock uncertainty allows."""
CRITERIA = (DEADLINES, TAIL, CPU)
"""The criteria in order of importance, named as in the column `decided_by`."""


@dataclass(frozen=True)
class WorkloadRanking:
    """The ranking of the transports for one workload."""

    group: str
    choices: tuple[str, ...]
    """The ids of the ranked cells."""
    pairs: Mapping[str, Sequence[CellPair]]
    """The pairs that each criterion compared: the pairs without a significant difference in any earlier criterion.
    Criteria that do not apply are left out."""
    decisions: Decisions
    worst: WorstFlows
    rounds: Mapping[str, int]

    @cached_property
    def ranks(self) -> dict[str, tuple[int, int]]:
        """The best and the worst possible rank of each choice."""
        return ranks_of(self.choices, self.decisions)

    def decides(self, one: str, other: str) -> str:
        """Return the criterion that separates two cells, or an empty string if no criterion separates them."""
        return self.decisions.get((one, other)) or self.decisions.get((other, one)) or ""

    def pair(self, criterion: str, one: str, other: str) -> CellPair | None:
        """Return the comparison of two cells by one criterion, or None if that criterion did not compare them."""
        return next((each for each in self.pairs.get(criterion, ()) if each.cells == {one, other}), None)

    @property
    def all_pairs(self) -> Iterator[tuple[str, CellPair]]:
        """The compared pairs, each with its criterion. For deadlines, `difference` is the difference between two missed
        shares."""
        yield from ((criterion, pair) for criterion, pairs in self.pairs.items() for pair in pairs)

    def columns(self, cell: str, first: str | None) -> dict[str, Any]:
        """Return the ranking columns of one cell: ranks, deciding criterion, rounds and worst flow.

        `first` is the cell at the top of the table. The deciding criterion is the one that separates the cell from
        `first`.
        """
        low, high = self.ranks.get(cell, (None, None))
        decided_by = self.decides(first, cell) if first and first != cell else ""
        ranked = {"rank_low": low, "rank_high": high, "decided_by": decided_by or None}
        return ranked | {"rounds": self.rounds.get(cell)} | self.worst.columns(cell)


def rank_workloads(
    cells: Iterable[Cell], rows: Mapping[str, Values], trials: Sequence[Values], flow_trials: Sequence[Values]
) -> dict[str, WorkloadRanking]:
    """Return the ranking of each workload, keyed by table id.

    `trials` contains the missed deadlines and the CPU use of whole workloads. `flow_trials` contains the p99 of each
    flow.
    """
    tables: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.is_whole_workload and not (cell.dropped or cell.comparison.side or cell.comparison.alone):
            tables.setdefault(cell.group, []).append(cell)
    numbers = round_numbers(trials)
    placed = [dict(trial) | {"round": numbers.get((trial["cell"], trial["trial"]))} for trial in trials]
    return {group: _rank(group, table, rows, placed, flow_trials) for group, table in tables.items()}


def _rank(
    group: str,
    cells: Sequence[Cell],
    rows: Mapping[str, Values],
    trials: Sequence[Values],
    flow_trials: Sequence[Values],
) -> WorkloadRanking:
    measured = [cell for cell in cells if rows[cell.id]["status"] == "ok"]
    ids = {cell.id for cell in measured}
    good = [each for each in trials if each["cell"] in ids and each["good"] and each["round"] is not None]
    chosen = tuple(cell.id for cell in choices(measured))
    worst = WorstFlows.of(measured, good, flow_trials, rows)
    own = [each for each in good if each["cell"] in chosen]
    criteria = [name for name, applies in _applicable(cells[0], worst).items() if applies]
    alpha = _levels(criteria, own)
    compare = {name: partial(_compare, name, own, worst, alpha[name]) for name in criteria}
    pairs, decisions = decide_in_order(chosen, compare)
    rounds = {cell: len({each["round"] for each in good if each["cell"] == cell}) for cell in ids}
    return WorkloadRanking(group, chosen, pairs, decisions, worst, rounds)


def _applicable(cell: Cell, worst: WorstFlows) -> dict[str, bool]:
    """Return the criteria that apply to the workload. A workload may have no deadline, or too few messages for a
    p99."""
    return {DEADLINES: cell.has_deadline, TAIL: bool(worst.flows), CPU: True}


def _levels(criteria: Sequence[str], trials: Sequence[Values]) -> dict[str, float]:
    """Return the significance level of each criterion.

    If too few deadlines were missed to separate any pair, the other criteria share the whole significance level.
    """
    level = share_level(ALPHA, len(criteria))
    if DEADLINES not in criteria or can_differ(map(_share_trial, _with_deadlines(trials)), level):
        return dict.fromkeys(criteria, level)
    return dict.fromkeys(criteria, share_level(ALPHA, len(criteria) - 1)) | {DEADLINES: level}


def _with_deadlines(trials: Iterable[Values]) -> list[Values]:
    return [each for each in trials if each.get("deadlines")]


def _compare(
    criterion: str, trials: Sequence[Values], worst: WorstFlows, alpha: float, pairs: Sequence[Ids]
) -> Sequence[CellPair]:
    """Compare pairs of choices by one criterion. `trials` contains the trials of all ranked transports (choices)."""
    if criterion == DEADLINES:
        return _compare_deadlines(_with_deadlines(trials), pairs, alpha)
    if criterion == TAIL:
        return worst.compare(pairs, alpha)
    wanted = set(map(frozenset, pairs))
    fitted = fit(_cpu_observations(trials), alpha, scale="ratio").pairs
    return judge_pairs([pair for pair in fitted if pair.cells in wanted], alpha, "ratio")


def _compare_deadlines(trials: Sequence[Values], pairs: Sequence[Ids], alpha: float) -> Sequence[CellPair]:
    """Compare the shares of missed deadlines.

    If the clock uncertainty leaves open how many deadlines were missed, a difference must be significant for both the
    lowest and the highest possible counts.
    """
    found = compare_shares(map(_share_trial, trials), pairs, alpha)
    for end in ENDS if any(each.get(end) is not None for each in trials for end in ENDS) else ():
        at_end = compare_shares([_share_trial(each, end) for each in trials], pairs, alpha)
        decided = {(pair.a, pair.b) for pair in at_end if pair.decided}
        found = [replace(pair, decided=pair.decided and (pair.a, pair.b) in decided) for pair in found]
    return found


def _share_trial(trial: Values, column: str = "missed") -> ShareTrial:
    missed = trial["missed"] if trial.get(column) is None else trial[column]
    return ShareTrial(trial["cell"], trial["round"], missed, trial["deadlines"], trial.get("steal_share"))


def _cpu_observations(trials: Iterable[Values]) -> list[Observation]:
    return [
        Observation(each["cell"], each["round"], each["cpu_core_percent"], each.get("steal_share"))
        for each in trials
        if each.get("cpu_core_percent")
    ]


def set_workload_ranks(
    cells: Iterable[Cell], rows: Iterable[dict[str, Any]], rankings: Mapping[str, WorkloadRanking]
) -> None:
    """Fill in the ranks of whole workloads, the deciding criteria and the worst p99."""
    by_id = {row["cell"]: row for row in rows}
    whole = [cell for cell in cells if cell.is_whole_workload and cell.group in rankings]
    for cell in whole:
        ranking = rankings[cell.group]
        by_id[cell.id] |= ranking.columns(cell.id, _first(ranking, by_id))


def _first(ranking: WorkloadRanking, rows: Mapping[str, Values]) -> str | None:
    """Return the cell at the top of the table. If cells have equal ranks, the cell with the best values is first."""

    def place(cell: str) -> tuple[float, ...]:
        values = (rows[cell]["missed_share"], ranking.worst.ratio(cell), rows[cell]["cpu_core_percent"])
        return (*ranking.ranks[cell], *(math.inf if each is None else float(each) for each in values))

    return min(ranking.choices, key=place, default=None)
