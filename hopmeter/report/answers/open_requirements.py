"""The rows whose requirements are undecided, and the number of rounds and the time needed to decide them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.model import units
from hopmeter.report.answers.comparison_sentences import shows_level

MOST_S = 7200
"""A run longer than this number of seconds is suggested only if no shorter run decides a requirement."""


@dataclass(frozen=True)
class Further:
    """A longer run that decides whether some undecided rows meet the requirements."""

    rows: list[Row]
    others: int
    """The number of undecided rows that the longer run would not decide."""
    rounds: int
    seconds: float
    """The total time of all trials, including those already executed."""


def requirements_of_run(run: Run) -> list[str]:
    """Return the requirements of a run's scenario."""
    return list(run.part("scenario").get("require") or [])


def further_run(run: Run) -> Further | None:
    """Return a run that decides as many rows as possible within two hours. If no row can be decided within two hours,
    return a run that decides one row. Return None if no row's required number of rounds is known."""
    tables = [group for group in groups([run]) if not shows_level(group)]
    undecided = [row for group in tables for row in group.choices if row.ok and row["require"] == "undecided"]
    known = sorted((row for row in undecided if row["require_rounds"]), key=lambda row: row.number("require_rounds"))
    if not known:
        return None
    continued = [row for group in tables for row in group.rows if row["require"] == "undecided" or row.is_floor]
    possible = [_further(run, known[:many], continued, len(undecided) - many) for many in range(1, len(known) + 1)]
    short = [each for each in possible if each.seconds <= MOST_S]
    return short[-1] if short else possible[0]


def _further(run: Run, rows: list[Row], continued: Sequence[Row], others: int) -> Further:
    rounds = max(max(row["require_rounds"] or 0, (row["trials_good"] or 0) + 1) for row in rows)
    further_s = sum(_trial_s(row) * max(rounds - len(row.trials), 0) for row in continued)
    return Further(rows, others, rounds, max(_budget_s(run), sum(_times(run.trials))) + further_s)


def _trial_s(row: Row) -> float:
    return fmean(_times(row.trials) or [0.0])


def _budget_s(run: Run) -> float:
    budget = run.part("scenario").get("budget")
    return units.seconds(budget) if budget else 0.0


def _times(trials: Sequence[dict[str, Any]]) -> list[float]:
    return [trial["wall_s"] for trial in trials if trial.get("wall_s")]
