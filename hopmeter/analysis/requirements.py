"""Whether a cell meets the requirements of its scenario, judged by intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hopmeter.analysis.cell import analyse
from hopmeter.analysis.floors import headline as headline_of
from hopmeter.analysis.open_questions import Bounds, IsJudged
from hopmeter.analysis.percentiles import CONFIDENCE
from hopmeter.model.cell import Cell
from hopmeter.scenario.requirement import Requirement, parse
from hopmeter.store import RunFolder

Verdict = Literal["meets", "misses", "undecided"]
Values = Mapping[str, Any]
ALPHA = 1 - CONFIDENCE


def requirement_columns(
    cell: Cell, row: Values, headline: str, required: Sequence[str], alpha: float = ALPHA
) -> dict[str, Any]:
    """Return the columns `require` and `require_each`; empty without requirements, and for a dropped cell."""
    if not required or cell.dropped:
        return {}
    wanted = [parse(text) for text in required]
    verdicts = [judge(each, row, headline, alpha) for each in wanted]
    each_text = [f"{one.text}: {verdict}" for one, verdict in zip(wanted, verdicts, strict=True)]
    return {"require": overall(verdicts), "require_each": each_text}


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on all requirements together."""
    if "misses" in verdicts:
        return "misses"
    return "undecided" if "undecided" in verdicts else "meets"


def judge_trials(folder: RunFolder, required: Sequence[str]) -> IsJudged:
    """Return the function that says whether the trials so far decide all requirements of a cell."""

    def is_judged(cell: Cell, median: Bounds, alpha: float) -> bool:
        row = analyse(cell, folder.trials_of(cell.id), folder)
        row |= dict(zip(("median_us", "median_low_us", "median_high_us"), median, strict=True))
        return requirement_columns(cell, row, headline_of(cell), required, alpha).get("require") != "undecided"

    return is_judged


def look_levels(until: str | None, looks: Mapping[str, Sequence[Values]]) -> dict[str, float]:
    """Return the level of each table whose looks judged the requirements: that of its last look."""
    return {group: float(each[-1]["alpha"]) for group, each in looks.items()} if until == "require" else {}


def judge(wanted: Requirement, row: Values, headline: str, alpha: float = ALPHA) -> Verdict:
    """Judge one requirement: it is met or missed if the whole interval is on one side of the limit.

    A look has its own level `alpha`, and wider intervals.
    A cell that could not keep up, or has no good trial, misses every requirement.
    """
    if row["status"] != "ok":
        return "misses"
    low, high = _interval(wanted, row, headline, alpha)
    if low is None or high is None:
        return "undecided"
    if wanted.is_met(high):
        return "meets"
    return "undecided" if wanted.is_met(low) else "misses"


def _interval(wanted: Requirement, row: Values, headline: str, alpha: float) -> tuple[float | None, float | None]:
    if wanted.metric == "lost":
        return _lost(row, alpha, exact=not wanted.limit)
    names = {"cpu": "cpu_core_percent{}", "p50": "median{}_us"}
    name = names.get(wanted.metric, f"{headline}_{wanted.metric}{{}}_us")
    low, high = row[name.format("_low")], row[name.format("_high")]
    if alpha == ALPHA or low is None or high is None:
        return low, high
    return _widen(low, row[name.format("")], high, row["trials_good"], alpha)


def _widen(low: float, point: float, high: float, trials: int, alpha: float) -> tuple[float, float]:
    """Return the interval of a look from the one at 95 %. It is never too narrow: the distance from the point contains
    the bias too."""
    from scipy.special import stdtrit  # slow to load, and few runs require it

    factor = float(stdtrit(trials - 1, 1 - alpha / 2) / stdtrit(trials - 1, 1 - ALPHA / 2))
    if low > 0:
        return point * (low / point) ** factor, point * (high / point) ** factor
    return point - factor * (point - low), point + factor * (high - point)


def _lost(row: Values, alpha: float, exact: bool) -> tuple[float | None, float | None]:
    """Return the share of lost messages: as counted if none may be lost, otherwise its interval (Clopper and
    Pearson)."""
    lost, received = row["lost"], row["received"]
    many = (lost or 0) + (received or 0)
    if lost is None or not many:
        return None, None
    if exact:
        return lost / many, lost / many
    from scipy.special import betaincinv  # slow to load, and few runs require it

    tail = alpha / 2
    low = float(betaincinv(lost, many - lost + 1, tail)) if lost else 0.0
    return low, float(betaincinv(lost + 1, many - lost, 1 - tail)) if lost < many else 1.0
