"""A table row as JSON, for `hopmeter advise --json`."""

from __future__ import annotations

from typing import Any

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.row_order import compare
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.advice.row_words import lossless_of, why_not
from hopmeter.report.words.workload_words import is_whole

COLUMNS = (
    *("transport", "language", "profile", "rank_low", "rank_high", "decided_by", "received", "lost"),
    *("median_us", "median_low_us", "median_high_us"),
    *("missed_share", "missed_share_low", "missed_share_high"),
    *("worst_flow", "worst_p99_ratio", "worst_p99_ratio_low", "worst_p99_ratio_high"),
    *("cpu_core_percent", "cpu_core_percent_low", "cpu_core_percent_high"),
)
RATIO = ("ratio", "ratio_low", "ratio_high")
"""JSON keys for the latency ratio to the recommended row and for its interval."""


def row_json(group: Group, row: Row | None, take: Row | None) -> dict[str, Any] | None:
    """Return a row's values, its ratio to the recommended row, and its settings, including the lossless settings.
    Return None if `row` is None."""
    if row is None:
        return None
    is_other = take is not None and take is not row and not is_whole(group)
    known = compare(take, row) if take and is_other else None
    lossless = lossless_of(row)
    return {
        "cell": row.id,
        **{name: row.get(name) for name in COLUMNS},
        **dict(zip(RATIO, known.bounds if known else (None, None, None), strict=True)),
        "settings": dict(row.cell.carriage.settings),
        "lossless": dict(lossless.settings) if lossless else None,
        "why_not": why_not(row) or None,
    }
