"""Complete the row of a whole workload from the rows of its flows and paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hopmeter.model.requirement_verdict import Verdict, overall

Row = dict[str, Any]


def complete_workload(whole: Row, parts: Sequence[Row]) -> None:
    """Fill in `missed_part`: the flow or path with the largest share of missed deadlines."""
    due = [row for row in parts if row["missed_share"] is not None]
    worst = max(due, key=lambda row: float(row["missed_share"]), default=None)
    if whole["missed"] and worst is not None:
        whole["missed_part"] = worst["flow"] or worst["path"]


def complete_requirements(whole: Row, parts: Sequence[Row]) -> None:
    """Fill in whether a workload meets its requirements, including the requirements on its flows and paths."""
    judged = [row for row in (whole, *parts) if row["require"]]
    if not judged:
        return
    texts = [f"{row['flow'] or row['path']} {text}" for row in parts for text in row["require_each"] or []]
    needed = [row["require_rounds"] for row in judged if row["require"] == Verdict.UNDECIDED]
    whole["require"] = overall([row["require"] for row in judged])
    whole["require_each"] = [*(whole["require_each"] or []), *texts]
    is_open = whole["require"] == Verdict.UNDECIDED and all(needed)
    whole["require_rounds"] = max(needed) if is_open else None
