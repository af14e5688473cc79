"""Rows of results as Arrow tables, with the same columns and types whatever the rows are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from hopmeter.model.cell import AXES, CONDITIONS
from hopmeter.model.columns import CELLS
from hopmeter.store.schemas import table

CONDITION_TYPES = CELLS | {"burst": "int", "reply": "text", "fifo": "int", "mlock": "bool", "no_idle_states": "bool"}
NAMES = ("transport", "language", "profile")
ESTIMATE = dict.fromkeys(("ratio", "low", "high"), "float")
RANKING = (
    *("group", "cell", *NAMES, "payload", "rate_hz", "rank_low", "rank_high", "rounds"),
    *(f"median{end}_us" for end in ("", "_low", "_high")),
    *(f"ratio_to_best{end}" for end in ("", "_low", "_high")),
)
PAIRS = {"group": "text", "a": "text", "b": "text", **ESTIMATE, "decided": "bool"}
CHANGES = {
    **{name: CONDITION_TYPES[name] for name in (*NAMES, *AXES, "payload_bytes", "group")},
    "metric": "text",
    "old": "float",
    "new": "float",
    **ESTIMATE,
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
    """Return the rows that have a rank, table by table, the fastest first."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("rank_low") is not None:
            tables.setdefault(row["group"], []).append(row)
    ordered = [row for group in tables.values() for row in sorted(group, key=_rank)]
    return table(ordered, {name: CELLS[name] for name in RANKING})


def _rank(row: dict[str, Any]) -> tuple[int, int, float]:
    return row["rank_low"], row["rank_high"], row["median_us"]
