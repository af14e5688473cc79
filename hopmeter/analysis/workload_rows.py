"""The row of a whole workload, from the rows of its flows and paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hopmeter.messages import join_messages, split_code, tag

Row = dict[str, Any]


def complete_workload(whole: Row, parts: Sequence[Row]) -> None:
    """Fill in the row of a whole workload: its status, and the deadlines of its flows and paths together."""
    if whole["status"] in ("dropped", "failed"):
        return
    bad = [row for row in parts if row["status"] != "ok"]
    if bad:
        said = [f"{row['flow'] or row['path']}: {split_code(row['reason'] or '')[0]}" for row in bad]
        whole["status"] = "saturated"
        whole["reason"] = join_messages([tag("W-FLOWS-SATURATED", "; ".join(said))])
        whole["reason_code"] = "W-FLOWS-SATURATED"
    due = [row for row in parts if row["deadline_us"] is not None]
    messages = sum(row["received"] + row["lost"] for row in due)
    if due and messages:
        worst = max(due, key=lambda row: row["miss_share"])
        shares = ("miss_share", "miss_share_low", "miss_share_high")
        whole |= {name: worst[name] for name in shares} | {"miss_part": worst["flow"] or worst["path"]}
        whole["misses"] = sum(row["misses"] for row in due)
        whole["miss_run"] = max(row["miss_run"] for row in due)
