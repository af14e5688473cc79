"""Rank cells by several criteria. Each criterion tests only the pairs between which no more important criterion has
found a significant difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hopmeter.statistics.ranking import CellPair

Ids = tuple[str, str]
Decisions = dict[Ids, str]
"""Maps each pair with a significant difference to the name of the criterion that found it. The better cell comes first
in the pair."""
Compare = Callable[[Sequence[Ids]], Sequence[CellPair]]
"""A function that compares the given pairs of cells. The function controls the error rate over all pairs together."""


def share_level(alpha: float, criteria: int) -> float:
    """Return the significance level of each criterion: `alpha` divided by the number of criteria."""
    return alpha / max(criteria, 1)


def decide_in_order(
    cells: Sequence[str], criteria: Mapping[str, Compare]
) -> tuple[dict[str, Sequence[CellPair]], Decisions]:
    """Return the pairs that each criterion compared, and all pairs with a significant difference. The first criterion
    in `criteria` must be the most important one.

    A difference that contradicts the differences found by more important criteria is ignored. For example, if A ranks
    before B, a later criterion cannot rank both B before C and C before A.
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
    """Return whether the pairs in `graph` imply, directly or through other cells, that `start` is better than `end`."""
    edges = list(graph)
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        further = {worse for better, worse in edges if better == here} - seen
        seen |= further
        waiting += further
    return end in seen


def ranks_of(cells: Sequence[str], decisions: Decisions) -> dict[str, tuple[int, int]]:
    """Return the best and the worst possible rank of each cell."""
    return {
        cell: (
            1 + sum(worse == cell for _, worse in decisions),
            len(cells) - sum(better == cell for better, _ in decisions),
        )
        for cell in cells
    }
