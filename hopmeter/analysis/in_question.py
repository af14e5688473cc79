"""Which transports may still keep the deadlines of a workload best: the others need no more measurements of flows
alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hopmeter.analysis.cell import examine
from hopmeter.analysis.choices import choices
from hopmeter.analysis.deadlines import Misses, miss_interval
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.workloads import rows_of
from hopmeter.store import RunFolder

Missed = Mapping[str, Misses]
"""The misses of one trial, by the id of the flow's or path's row."""
CountMisses = Callable[[Cell, TrialResult], Missed]


def count_misses_of(folder: RunFolder) -> CountMisses:
    """Return the function that counts the misses of a trial of a workload."""

    def count(cell: Cell, result: TrialResult) -> Missed:
        parts = [part for part in rows_of(cell) if part.deadline_s is not None]
        measured = {part.id: examine(part, result, folder).measured for part in parts}
        return {part: each.misses for part, each in measured.items() if each and each.misses}

    return count


class InQuestion:
    """The workloads over each transport, with the misses of their trials so far."""

    def __init__(self, cells: Iterable[Cell], count: CountMisses) -> None:
        every = list(cells)
        wanted = {cell.comparison.beside for cell in every}
        self._cells = {cell.id: cell for cell in every if cell.id in wanted}
        self._count = count
        self._seen: dict[str, dict[str, list[Misses]]] = {}

    def note(self, result: TrialResult) -> None:
        """Take a finished trial into account."""
        if result.good and (cell := self._cells.get(result.cell)) is not None:
            for part, misses in self._count(cell, result).items():
                self._seen.setdefault(cell.id, {}).setdefault(part, []).append(misses)

    def includes(self, cell: str) -> bool:
        """Return whether a workload's transport may be the one that keeps the deadlines best: its largest share of
        misses is not proved to be larger than that of the best transport of its table."""
        low, _ = self._interval(cell)
        highs = [self._interval(each.id)[1] for each in self._rivals(cell)]
        known = [high for high in highs if high is not None]
        return low is None or not known or low <= min(known)

    def _rivals(self, cell: str) -> list[Cell]:
        table = [each for each in self._cells.values() if each.group == self._cells[cell].group]
        return choices(table) or table

    def _interval(self, cell: str) -> tuple[float | None, float | None]:
        """Return the interval of the largest share of misses among its flows and paths; unknown without one."""
        parts = self._seen.get(cell)
        return miss_interval(max(parts.values(), key=_share)) if parts else (None, None)


def _share(trials: Sequence[Misses]) -> float:
    messages = sum(each.messages for each in trials)
    return sum(each.missed for each in trials) / messages if messages else 0.0
