"""Whether a cell meets the requirements of its scenario, judged by intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hopmeter.analysis.percentiles import CONFIDENCE
from hopmeter.model.cell import Cell
from hopmeter.scenario.requirement import Requirement, parse

Verdict = Literal["meets", "misses", "undecided"]
Values = Mapping[str, Any]


def requirement_columns(cell: Cell, row: Values, headline: str, required: Sequence[str]) -> dict[str, Any]:
    """Return the columns `require` and `require_each`; empty without requirements, and for a dropped cell."""
    if not required or cell.dropped:
        return {}
    wanted = [parse(text) for text in required]
    verdicts = [judge(each, row, headline) for each in wanted]
    each_text = [f"{one.text}: {verdict}" for one, verdict in zip(wanted, verdicts, strict=True)]
    return {"require": overall(verdicts), "require_each": each_text}


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on all requirements together."""
    if "misses" in verdicts:
        return "misses"
    return "undecided" if "undecided" in verdicts else "meets"


def judge(wanted: Requirement, row: Values, headline: str) -> Verdict:
    """Judge one requirement: it is met or missed if the whole interval is on one side of the limit.

    A cell that could not keep up, or has no good trial, misses every requirement.
    """
    if row["status"] != "ok":
        return "misses"
    low, high = _interval(wanted, row, headline)
    if low is None or high is None:
        return "undecided"
    if wanted.is_met(high):
        return "meets"
    return "undecided" if wanted.is_met(low) else "misses"


def _interval(wanted: Requirement, row: Values, headline: str) -> tuple[float | None, float | None]:
    if wanted.metric == "lost":
        return _lost(row, exact=not wanted.limit)
    names = {"cpu": "cpu_core_percent{}", "p50": "median{}_us"}
    name = names.get(wanted.metric, f"{headline}_{wanted.metric}{{}}_us")
    return row[name.format("_low")], row[name.format("_high")]


def _lost(row: Values, exact: bool) -> tuple[float | None, float | None]:
    """Return the share of lost messages: as counted if none may be lost, otherwise its interval (Clopper and
    Pearson)."""
    lost, received = row["lost"], row["received"]
    many = (lost or 0) + (received or 0)
    if lost is None or not many:
        return None, None
    if exact:
        return lost / many, lost / many
    from scipy.special import betaincinv  # slow to load, and few runs require it

    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(lost, many - lost + 1, tail)) if lost else 0.0
    return low, float(betaincinv(lost + 1, many - lost, 1 - tail)) if lost < many else 1.0
