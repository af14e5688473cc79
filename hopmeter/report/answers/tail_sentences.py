"""A sentence on how many rounds are needed to determine p99, for runs with too few or too short trials."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.results.groups import Group
from hopmeter.report.answers.comparison_sentences import shows_level
from hopmeter.report.words import conditions, formatting


def tail_sentence(groups: Sequence[Group]) -> str:
    """Return a sentence on how many rounds each table needs to determine p99, or an empty string if no table needs more
    rounds."""
    needed = {_name(group): rounds for group in groups if not shows_level(group) and (rounds := _rounds(group))}
    if not needed:
        return ""
    if len(needed) == 1 == len(groups):
        return f"p99 needs {_many(*needed.values())}: measure with `--trials {max(needed.values())}`."
    each = [f"{_many(rounds)} for {title}" for title, rounds in needed.items()]
    return f"p99 needs {'; '.join(each)}. `--trials N` measures N rounds."


def _name(group: Group) -> str:
    is_workload = group.rows[0].cell.workload is not None
    return conditions.subject(group) if is_workload else conditions.title(group)


def _rounds(group: Group) -> int:
    """Return how many rounds a table needs to determine p99 of every row, or 0 if no row is known to need more
    rounds."""
    return max((row["p99_rounds"] or 0 for row in group.measured_rows), default=0)


def _many(rounds: int) -> str:
    return f"{formatting.count(rounds)} rounds"
