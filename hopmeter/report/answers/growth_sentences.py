"""Sentences on latency trends within long trials: which medians grew or fell, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.words import formatting
from hopmeter.statistics.verdicts import verdict

MOST_NAMES = 4
MOST_OPEN = 2.0
"""A latency trend is undecided if its confidence interval extends beyond this factor."""
MOST_SAID = 10.0
"""A trend's confidence interval is not printed if it extends beyond this factor."""


def growth_sentence(run: Run) -> str:
    """Return a sentence on the latency trends of all rows, or an empty string if no trial was long enough."""
    rows = [row for row in run.measured_rows if row["growth"] is not None]
    moved = [row for row in rows if _has_moved(row)]
    others = [row for row in rows if not _has_moved(row) and not _is_open(row)]
    open_rows = [row for row in rows if not _has_moved(row) and _is_open(row)]
    changes = [_change(row) for row in sorted(moved, key=lambda row: -row.number("growth"))]
    known = formatting.join(formatting.first(changes, MOST_NAMES, "other row"))
    said = "; ".join(filter(None, [known, _no_trend(others, bool(moved or open_rows)), _open(open_rows)]))
    return f"Over the course of a trial, {said}." if said else ""


def _has_moved(row: Row) -> bool:
    """Return whether the median changed by more than 5 % during the trials."""
    return verdict(row["growth"], row["growth_low"], row["growth_high"]) not in ("same", "undecided")


def _is_open(row: Row) -> bool:
    return row.number("growth_high") > MOST_OPEN or row.number("growth_low") < 1 / MOST_OPEN


def _open(rows: Sequence[Row]) -> str:
    """Return a phrase that states how many rows vary too much to show a trend. Return an empty string if no row varies
    too much."""
    if not rows:
        return ""
    low, high = min(row.number("growth_low") for row in rows), max(row.number("growth_high") for row in rows)
    said = f"p50 of {formatting.plural(len(rows), 'row')} varied too much to show a trend"
    if high > MOST_SAID or low < 1 / MOST_SAID:
        return said
    ends = f"{formatting.ratio(low)} to {formatting.ratio(high)}"
    return f"{said}: at the end of a trial, p50 was {ends} times its value at the beginning"


def _change(row: Row) -> str:
    """Return a row's trend, such as `p50 of values-0 over zeromq grew by 12 % (8–15 %)`."""
    low, high = sorted(abs(row.number(end) - 1) for end in ("growth_low", "growth_high"))
    ends = f"{formatting.number(100 * low, 2)}–{formatting.percent(high)}"
    grew = "grew" if row.number("growth") > 1 else "fell"
    return f"p50 of {_name(row)} {grew} by {formatting.percent(abs(row.number('growth') - 1))} ({ends})"


def _no_trend(rows: Sequence[Row], has_others: bool) -> str:
    """Return a phrase such as `there is no trend: p50 changed by less than 4 %`, or an empty string if all rows have a
    trend."""
    if not rows:
        return ""
    most = max(max(row.number("growth_high") - 1, 1 - row.number("growth_low")) for row in rows)
    which = f" in {formatting.plural(len(rows), 'other row')}" if has_others else ""
    return f"there is no trend{which}: p50 changed by less than {formatting.percent(most)}"


def _name(row: Row) -> str:
    over = formatting.row_name(row) + (f" {row['profile']}" if row["profile"] else "")
    return f"{row.cell.part} over {over}" if row.cell.part else over
