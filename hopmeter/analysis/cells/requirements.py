"""Judge by confidence intervals whether a cell meets the requirements of its scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hopmeter.analysis.cells.cell import Judged, examine, row
from hopmeter.analysis.cells.repeated_trials import set_aside_repeated
from hopmeter.analysis.cells.requirement_intervals import Evidence, applies, row_evidence, sample_evidence
from hopmeter.analysis.latency.intervals import ALPHA
from hopmeter.analysis.ranking.open_questions import Bounds, IsJudged
from hopmeter.model.cell import Cell
from hopmeter.model.requirement_verdict import Verdict, overall, verdict_text
from hopmeter.scenario.requirement import Requirement, parse
from hopmeter.store.run_folder import RunFolder

Values = Mapping[str, Any]


class Judge:
    """Judges the requirements of one cell. A judge stores intervals instead of samples, to save memory."""

    def __init__(self, cell: Cell, trials: Sequence[Judged], required: Sequence[str], alpha: float = ALPHA) -> None:
        """Compute the confidence intervals of the required metrics from the samples of the good trials. `alpha` is the
        significance level. An interim analysis (look) passes a smaller significance level and therefore gets wider
        intervals."""
        self._wanted = [] if cell.dropped else [each for each in map(parse, required) if applies(each, cell)]
        self._alpha = alpha
        self._from_samples = sample_evidence(cell, trials, self._wanted, alpha)

    def columns(self, row: Values) -> dict[str, Any]:
        """Return the `require…` columns, or no columns if no requirement applies to the cell. `row` is the cell's row,
        which contains the median and the CPU use."""
        if not self._wanted:
            return {}
        found = [self._from_samples.get(each.text) or row_evidence(each, row, self._alpha) for each in self._wanted]
        verdicts = [judge(each, row["status"], seen) for each, seen in zip(self._wanted, found, strict=True)]
        each_text = [verdict_text(one.text, verdict) for one, verdict in zip(self._wanted, verdicts, strict=True)]
        needed = [seen.rounds for seen, verdict in zip(found, verdicts, strict=True) if verdict == Verdict.UNDECIDED]
        verdict = overall(verdicts)
        return {
            "require": verdict,
            "require_each": each_text,
            "require_rounds": _rounds(needed) if verdict == Verdict.UNDECIDED else None,
        }


def _rounds(needed: Sequence[int | None]) -> int | None:
    """Return how many rounds are needed for a verdict on all requirements, or None if the number is unknown for any
    requirement."""
    known = [each for each in needed if each is not None]
    return max(known) if known and len(known) == len(needed) else None


def judge(wanted: Requirement, status: str, seen: Evidence) -> Verdict:
    """Judge one requirement. The verdict is undecided if the requirement's limit lies inside the metric's confidence
    interval.

    An overloaded cell, or a cell without good trials, misses every requirement.
    """
    if status != "ok":
        return Verdict.MISSES
    if seen.high is not None and wanted.is_met(seen.high):
        return Verdict.MEETS
    return Verdict.MISSES if seen.low is not None and not wanted.is_met(seen.low) else Verdict.UNDECIDED


def judge_trials(folder: RunFolder, required: Sequence[str]) -> IsJudged:
    """Return a function that checks whether a cell already has enough trials for a verdict on all its requirements."""

    def is_judged(cell: Cell, median: Bounds, alpha: float) -> bool:
        trials = [examine(cell, trial, folder) for trial in set_aside_repeated(folder.trials_of(cell.id))]
        values = row(cell, trials, folder)
        values |= dict(zip(("median_us", "median_low_us", "median_high_us"), median, strict=True))
        return Judge(cell, trials, required, alpha).columns(values).get("require") != Verdict.UNDECIDED

    return is_judged


def look_levels(looks: Mapping[str, Sequence[Values]]) -> dict[str, float]:
    """Return the significance level of each table's last interim analysis (look)."""
    return {group: float(each[-1]["alpha"]) for group, each in looks.items()}
