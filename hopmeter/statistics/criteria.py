"""Order cells by several criteria: a later criterion decides only pairs that earlier ones do not tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hopmeter.statistics.ranking import Pair

Decisions = dict[tuple[str, str], str]
"""The criterion that decides a pair, by the better and the other cell."""


def share_level(alpha: float, criteria: int) -> float:
    """Return the level of each criterion: cells that are alike in all of them may be told apart by each."""
    return alpha / max(criteria, 1)


def decide_by_criteria(criteria: Mapping[str, Iterable[Pair]]) -> Decisions:
    """Return which pairs are decided, and by which criterion; the most important criterion comes first.

    A later decision that contradicts earlier ones in a circle does not count: if A is before B, and neither differs
    from C in this criterion, a later one must not put C before A and B before C at once.
    """
    accepted: Decisions = {}
    for name, pairs in criteria.items():
        found = {(pair.a, pair.b) for pair in pairs if pair.decided}
        new = {each for each in found if each not in accepted and each[::-1] not in accepted}
        graph = new | set(accepted)
        accepted |= {each: name for each in sorted(new) if not _leads(graph, each[1], each[0])}
    return accepted


def _leads(graph: Iterable[tuple[str, str]], start: str, end: str) -> bool:
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
