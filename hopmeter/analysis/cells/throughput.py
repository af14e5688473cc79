"""Fill in the result of each repeated search: the highest rate, its rank and what limited it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from hopmeter.analysis.ranking.rates import rank_rates, rates_by_round, repeated_searches
from hopmeter.messages import codes, tag
from hopmeter.model.cell import Cell
from hopmeter.plan.search import FLOOD
from hopmeter.store import processes

Row = dict[str, Any]
Values = Mapping[str, Any]
LIMITS = {
    "W-SEARCH-LOSS": "loss",
    "W-SEARCH-BEHIND": "source",
    "W-SEARCH-QUEUE": "queue",
    "W-SEARCH-LATE": "latency",
    "W-SEARCH-CPU": "cpu",
}
"""What limited the rate of a step that failed, by the code of its first reason. All other codes mean `failure`."""
VERDICTS = ("require", "require_each", "require_rounds")
RANK = ("rank_low", "rank_high", "rounds", "stopped_early", "ratio_to_best", "ratio_to_best_low", "ratio_to_best_high")


def set_throughput(cells: Sequence[Cell], rows: Iterable[Row], trials: Sequence[Values]) -> None:
    """Fill in the result of each repeated search in the row of its first cell. `search_failed` is already filled in."""
    by_id = {row["cell"]: row for row in rows}
    rankings = rank_rates(cells, by_id, trials)
    used = _cpu_percents(trials)
    for name, steps in repeated_searches(cells).items():
        first, ranking = by_id[name], rankings.get(steps[0].group)
        first |= _flood(first) | _limits([by_id[step.id] for step in steps[1:]], used)
        if ranking is not None and name in ranking.ranking.levels:
            columns = ranking.columns(name)
            first |= {column: columns[column] for column in RANK}
            first |= _rates(ranking.ranking.levels[name], first["payload_bytes"])
        first |= _status(first, steps, by_id)


def _rates(level_us: tuple[float, float | None, float | None], payload_bytes: int) -> Row:
    """Return a search's highest rate with its confidence interval. `level_us` is the time per message in µs, with its
    confidence interval."""
    at_us, low_us, high_us = level_us
    rates = {
        "throughput_hz": 1e6 / at_us,
        "throughput_low_hz": 1e6 / high_us if high_us else None,
        "throughput_high_hz": 1e6 / low_us if low_us else None,
    }
    return {**rates, "throughput_mb_s": payload_bytes / at_us}


def _flood(row: Row) -> Row:
    """Return how many messages per second arrived while the source sent as fast as the transport accepted messages."""
    arrived_hz, lost = flood_hz(row), row.get("lost")
    total = (row.get("received") or 0) + (lost or 0)
    return {"flood_hz": arrived_hz, "flood_lost_share": lost / total if total and lost is not None else None}


def flood_hz(row: Values) -> float | None:
    """Return how many messages per second arrived, or None if nothing arrived."""
    mb_s = row.get("achieved_mb_s")
    return mb_s * 1e6 / row["frame_bytes"] if mb_s else None


def _limits(steps: Sequence[Row], used: Mapping[str, Mapping[str, float]]) -> Row:
    """Return the most frequent reason why steps failed, and the CPU use of the source and the receiver in these
    steps."""
    failed = [row for row in steps if row["search_failed"]]
    if not failed:
        return {}
    reasons = Counter(limit_of(row["search_failed"]) for row in failed)
    limit = reasons.most_common(1)[0][0]
    busy = [used[row["cell"]] for row in failed if row["cell"] in used]
    cpu = {role: [each[role] for each in busy if role in each] for role in ("source", "sink")}
    percents = {f"throughput_{role}_cpu_percent": median(each) if each else None for role, each in cpu.items()}
    return {"throughput_limit": limit, **percents}


def limit_of(reason: str) -> str:
    """Return one word, such as `loss` or `cpu`, for the reason why a search step failed."""
    return next((LIMITS[code] for code in codes([reason]) if code in LIMITS), "failure")


def _cpu_percents(trials: Sequence[Values]) -> dict[str, dict[str, float]]:
    """Return the CPU use of each cell's source and sink processes, in percent of a core. The time during which a source
    waited for a due time is excluded."""
    found: dict[str, dict[str, float]] = {}
    for trial in trials:
        for each in processes.rows(trial) if trial["good"] else ():
            if each["roles"] in ("source", "sink") and each["interval_s"]:
                cpu_us = (each["user_us"] or 0.0) + (each["system_us"] or 0.0) - each["spun_us"]
                found.setdefault(trial["cell"], {})[each["roles"]] = cpu_us / each["interval_s"] / 1e4
    return found


def _status(first: Row, steps: Sequence[Cell], rows: Mapping[str, Row]) -> Row:
    """Return the status of a whole search, for the row of the search's first step. The row keeps only the warnings of
    steps whose rates were sustained."""
    held = [rows[step.id] for step in steps[1:] if rows[step.id]["search_failed"] is None]
    warnings = list(dict.fromkeys(text for row in held for text in row["warnings"] or []))
    said = {"warnings": warnings, "warning_codes": codes(warnings)} | dict.fromkeys(VERDICTS)
    if rates_by_round(steps, rows):
        return {**said, "status": "ok", "reason": None, "reason_code": None}
    if first["status"] == "failed":
        return said
    last = next((rows[step.id] for step in reversed(steps) if step.comparison.search_round != FLOOD), None)
    why = (last and last["search_failed"]) or tag(
        "W-SEARCH-OPEN", "no round found a rate that held and one that failed"
    )
    return {**said, "status": "failed", "reason": why, "reason_code": next(iter(codes([why])), None)}
