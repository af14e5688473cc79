"""Sentences that state which rows meet the requirements, and row orders that depend on the requirements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hopmeter.analysis.cells.requirement_intervals import applies
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.model.requirement_verdict import Verdict
from hopmeter.report.answers.comparison_sentences import name
from hopmeter.report.words import formatting
from hopmeter.report.words.workload_words import is_part, is_whole
from hopmeter.scenario.requirement import parse

MOST_NAMES = 4


def requirements_of(group: Group) -> list[str]:
    """Return the requirements that apply to a group's rows."""
    wanted = formatting.distinct(text for row in group.rows for text in row.run.part("scenario").get("require") or [])
    return [text for text in wanted if is_whole(group) or applies(parse(text), group.rows[0].cell)]


def order_by_requirements(group: Group, rows: Sequence[Row]) -> list[Row]:
    """Sort rows by whether they meet the requirements, then by CPU, median or rank. Without requirements, the order of
    the rows remains unchanged."""
    if not requirements_of(group):
        return list(rows)
    left = _ranking_metric(group)
    return sorted(rows, key=lambda row: (_place(row), _amount(row, left)))


def _amount(row: Row, left: str) -> tuple[float, ...]:
    if left == "rank":
        return row.criteria
    value = row.p50 if left == "median" else row["cpu_core_percent"]
    return (math.inf if value is None else float(value),)


def _place(row: Row) -> int:
    order = list(Verdict)
    return order.index(Verdict(row["require"])) if row["require"] else len(order)


def _ranking_metric(group: Group) -> str:
    """Return the metric that sorts rows with equal verdicts: CPU use, the median or, for a whole workload, the rank."""
    if is_whole(group):
        return "rank"
    if is_part(group):
        return "median"
    return "median" if any(parse(text).metric == "cpu" for text in requirements_of(group)) else "CPU"


def requirement_sentences(group: Group) -> list[str]:
    """Return sentences that state which choices meet the requirements, which miss them and which are undecided. Return
    an empty list if there are no requirements."""
    wanted = requirements_of(group)
    if not wanted:
        return []
    kinds = {
        verdict: [row for row in order_by_requirements(group, group.choices) if row["require"] == verdict]
        for verdict in Verdict
    }
    said = [_meets(group, kinds[Verdict.MEETS], formatting.join(wanted))]
    if missing := kinds[Verdict.MISSES]:
        them = "the requirement" if len(wanted) == 1 else "the requirements"
        said.append(f"{_names(group, missing)} {_verb(missing, 'miss')} {them}")
    if undecided := kinds[Verdict.UNDECIDED]:
        said.append(f"Undecided: {_names(group, undecided)}{_why(undecided)}")
    return [f"{sentence}." for sentence in said]


def _meets(group: Group, rows: Sequence[Row], wanted: str) -> str:
    if not rows:
        return f"No transport has been shown to meet {wanted}"
    metric = _ranking_metric(group)
    said = f"{_names(group, rows)} {_verb(rows, 'meet')} {wanted}"
    if metric == "rank":
        return said
    first = f"has a median of {formatting.microseconds(rows[0].p50)}" if metric == "median" else _core_share(rows[0])
    return f"{said} and {first}" if len(rows) == 1 else f"{said} (sorted by {metric}): {name(group, rows[0])} {first}"


def _core_share(row: Row) -> str:
    share = row["cpu_core_percent"]
    return "has no CPU value" if share is None else f"needs {formatting.percent(share / 100)} of a core"


def _names(group: Group, rows: Sequence[Row]) -> str:
    return formatting.join(formatting.first([name(group, row) for row in rows], MOST_NAMES))


def _verb(rows: Sequence[Row], verb: str) -> str:
    return verb if len(rows) > 1 else f"{verb}{'es' if verb.endswith('ss') else 's'}"


def _why(rows: Sequence[Row]) -> str:
    """Return the number of rounds needed to decide whether the given rows meet the requirements. If this number is
    unknown for any row, explain only that more rounds are needed."""
    needed = [row["require_rounds"] for row in rows if row["require_rounds"]]
    if len(needed) < len(rows):
        return " (a limit is within an interval; more rounds narrow the interval)"
    return f" (about {formatting.count(max(needed))} rounds would decide)"
