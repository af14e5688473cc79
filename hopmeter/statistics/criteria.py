"""Order cells by several criteria: a later criterion tests only the pairs that earlier ones do not tell apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hopmeter.statistics.ranking import CellPair

Ids = tuple[str, str]
Decisions = dict[Ids, str]
"""The criterion that decides a pair, by the better and the other cell."""
Compare = Callable[[Sequence[Ids]], Sequence[CellPair]]
"""Compares some pairs, with decisions that hold together."""


def share_level(alpha: float, criteria: int) -> float:
    """Return the level of each criterion: cells that are alike in all of them may be told apart by each."""
    return alpha / max(criteria, 1)


def decide_in_order(
    cells: Sequence[str], criteria: Mapping[str, Compare]
) -> tuple[dict[str, Sequence[CellPair]], Decisions]:
    """Return the pairs that each criterion compared, and the decisions; the most important criterion comes first.

    A later decision that contradicts earlier ones in a circle does not count: if A is before B, and neither differs
    from C in this criterion, a later one must not put C before A and B before C at once.
    """
    compared: dict[str, Sequence[CellPair]] = {}
    decisions: Decisions = {}
    open_ = [(one, other) for at, one in enumerate(cells) for other in cells[at + 1 :]]
    for name, compare in criteria.items():
        compared[name] = compare(open_)
        new = {(pair.a, pair.b) for pair in compared[name] if pair.decided}
        graph = new | set(decisions)
        decisions |= {each: name for each in sorted(new) if not _leads(graph, each[1], each[0])}
        open_ = [each for each in open_ if each not in decisions and each[::-1] not in decisions]
    return compared, decisions


def _leads(graph: Iterable[Ids], start: str, end: str) -> bool:
    """Return whether decisions lead from one cell to another."""
    edges = list(graph)
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        further = {worse for better, worse in edges if better == here} - seen
        seen |= further
        waiting += further
    return end in seen


def ranks_of(cells: Sequence[str], decisions: Decisions) -> dict[str, tuple[int, int]]:
    """Return the best and the worst rank that each cell may have."""
    return {
        cell: (
            1 + sum(worse == cell for _, worse in decisions),
            len(cells) - sum(better == cell for better, _ in decisions),
        )
        for cell in cells
    }
