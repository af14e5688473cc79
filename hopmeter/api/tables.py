"""Convert result rows to Arrow tables. The columns and types of each table are fixed, even if the table has no rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from hopmeter.model.cell import AXES, CONDITIONS, OF_WORKLOAD
from hopmeter.model.columns import CELLS
from hopmeter.store.schemas import table

CONDITION_TYPES = CELLS | {"reply": "text", "fifo": "int", "mlock": "bool", "no_idle_states": "bool"}
NAMES = ("transport", "language", "profile")
ESTIMATE = dict.fromkeys(("ratio", "low", "high"), "float")
RANKING = (
    *("group", "cell", *NAMES, "flow", "path", "payload", "rate_hz", "rank_low", "rank_high", "rounds"),
    *(f"median{end}_us" for end in ("", "_low", "_high")),
    *(f"ratio_to_best{end}" for end in ("", "_low", "_high")),
    "stopped_early",
    *(f"missed_share{end}" for end in ("", "_low", "_high")),
    *(f"worst_p99_ratio{end}" for end in ("", "_low", "_high")),
    *("worst_flow", "decided_by", "cpu_core_percent"),
)
PAIRS = {
    **dict.fromkeys(("group", "a", "b"), "text"),
    **ESTIMATE,
    "decided": "bool",
    "family": "text",
    "stopped_early": "bool",
    "criterion": "text",
    "difference": "float",
}
CHANGES = {
    **{name: CONDITION_TYPES[name] for name in (*NAMES, *AXES, *OF_WORKLOAD[:2], "payload_bytes", "group")},
    "metric": "text",
    "old": "float",
    "new": "float",
    **ESTIMATE,
    "difference": "float",
    "verdict": "text",
    "detectable": "float",
    "control": "bool",
    **dict.fromkeys(("old_status", "new_status", "reason", "code"), "text"),
}
HISTORY = {
    **dict.fromkeys(("machine", "scenario"), "text"),
    **{name: CONDITION_TYPES[name] for name in (*NAMES, *CONDITIONS)},
    **dict.fromkeys(("metric", "run", "started"), "text"),
    **dict.fromkeys(("value", "low", "high", "level", "change"), "float"),
}


def ranking_table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Return a table of the rows that are ranked by their rounds of measurement. In each group, the ranked rows come
    first, ordered by rank, and the reference rows follow."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("rounds") is not None:
            tables.setdefault(row["group"], []).append(row)
    ordered = [row for group in tables.values() for row in sorted(group, key=_rank)]
    return table(ordered, {name: CELLS[name] for name in RANKING})


def _rank(row: dict[str, Any]) -> tuple[bool, int, int, float]:
    """Return a row's sort key. A reference row has no rank and comes last. If a row has no median, because only one
    round was measured, its median counts as infinite."""
    return row["rank_low"] is None, row["rank_low"] or 0, row["rank_high"] or 0, row["median_us"] or math.inf
