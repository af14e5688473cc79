"""The questions that a run answers. The first question is the main question of the scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hopmeter.analysis.results.groups import Group, families, groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.answer import deciding_group
from hopmeter.report.words import conditions


@dataclass(frozen=True)
class Question:
    """A question: the table that answers the question, and the tables that were measured with other idle-state
    settings."""

    deciding: Group
    others: tuple[Group, ...] = ()

    @property
    def is_awake(self) -> bool:
        """Whether the table that answers the question was measured with idle cores kept awake."""
        return bool(self.deciding.conditions[conditions.IDLE])


def questions(run: Run) -> list[Question]:
    """Return the questions of a run in scenario order. A workload has only one question."""
    tables = [group for group in groups([run]) if not (group.rows[0].cell.flow or group.rows[0].cell.path)]
    places = {row.id: place for place, row in enumerate(run.rows)}
    ordered = sorted(families(tables, (conditions.IDLE,)), key=lambda family: _place(family, places))
    return [_question(family) for family in ordered]


def parts(run: Run) -> list[Group]:
    """Return the tables of a workload's flows and paths."""
    return [group for group in groups([run]) if group.rows[0].cell.flow or group.rows[0].cell.path]


def _question(family: Sequence[Group]) -> Question:
    deciding = deciding_group(family)
    return Question(deciding, tuple(group for group in family if group is not deciding))


def _place(family: Sequence[Group], places: dict[str, int]) -> int:
    return min(places[row.id] for group in family for row in group.rows)
