"""`[RESULT]` lines: one line for each cell in a stable format, for grep and simple scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hopmeter.analysis.latency.headline import headline
from hopmeter.plan import Cell
from hopmeter.plan.workloads.workload_cells import rows_of

MARK = "[RESULT]"
CONDITIONS = (
    "cell",
    "transport",
    "language",
    "profile",
    "pattern",
    "placement",
    "wait",
    "payload",
    "rate_hz",
    "relays",
)
LATENCY = ("mean", "min", "max", "p50", "p99")
OUTCOME = (
    *("received", "lost", "cpu_percent_mean", "cpu_us_per_message", "highest_rate_hz", "sinks_service_mean_us"),
    "median_us",
)
OF_WORKLOAD = ("flow", "path", "missed_share", "worst_p99_ratio", "rank_low", "rank_high", "cpu_core_percent")
"""Additional fields of a `[RESULT]` line for a workload, a flow or a path."""
OF_SEARCH = ("throughput_hz", "throughput_mb_s", "throughput_limit", "rank_low", "rank_high")
"""Additional fields of a `[RESULT]` line for a repeated search."""
NOTHING = "-"


def lines(cells: Iterable[Cell], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each cell that was not dropped, and one line for each repeated search. docs/metrics.md
    describes the format."""
    planned = {each.id: each for cell in cells if not cell.comparison.alone for each in rows_of(cell)}
    return [
        line(planned[row["cell"]], row)
        for row in rows
        if row["status"] != "dropped" and row["cell"] in planned and not row["search_round"]
    ]


def line(cell: Cell, row: Mapping[str, Any]) -> str:
    """Return a line such as `[RESULT] cell=… status=ok figure=response mean_us=… …`. The values contain no spaces, and
    `-` stands for a missing value."""
    figure = headline(cell)
    pairs = {
        **{name: row[name] for name in CONDITIONS},
        "status": row["status"],
        "figure": figure,
        **{f"{each}_us": row[f"{figure}_{each}_us"] for each in LATENCY},
        "p50_us": row["median_us"],
        "p99_us": row[f"{figure}_p99_us"] if any(row[f"{figure}_p99_{end}_us"] for end in ("low", "high")) else None,
        "service_mean_us": row["service_mean_us"],
        **{name: row[name] for name in OUTCOME},
        **({name: row[name] for name in OF_WORKLOAD} if cell.workload is not None else {}),
        **({name: row[name] for name in OF_SEARCH} if cell.comparison.search_round is not None else {}),
    }
    return " ".join([MARK, *(f"{name}={_word(value)}" for name, value in pairs.items())])


def _word(value: Any) -> str:
    if value is None or value == "":
        return NOTHING
    if isinstance(value, list):
        return "/".join(map(_word, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return ",".join(str(value).split())
