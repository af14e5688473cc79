"""Sentences on how much other flows delay the messages of a flow, and on the background load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.words import formatting


def company_sentences(group: Group) -> list[str]:
    """Return a sentence on how much longer the messages of a flow take while other flows run. Return an
    empty list if no flow was measured alone."""
    rows = [row for row in group.rows if row["times_alone"] is not None]
    if not rows:
        return []
    first, *others = rows
    who = _who(first)
    subject = f"Over {group.label(first)}, {who[:1].lower()}{who[1:]}" if others else who
    more = "".join(f"; over {group.label(row)} {_times(row)}" for row in others)
    return [f"{subject} take {_times(first)} as long alongside the other flows as alone{_causes(first)}{more}."]


def _who(row: Row) -> str:
    return f"{'Messages' if row['pattern'] == 'pubsub' else 'Calls'} of {row['flow']}"


def _times(row: Row) -> str:
    """Return how many times as long a flow's messages take alongside other flows as alone, such as `1.8 (1.5–2.2)
    times`. The ratio of the p99 values is included if known."""
    tail = alone_text(row, "times_alone_p99")
    return f"{alone_text(row)} times{f' (p99: {tail} times)' if tail else ''}"


def _causes(row: Row) -> str:
    workload = row.cell.workload
    causes = [each.name for each in workload.flows if each.name in workload.chain(row.cell.flow)] if workload else []
    others = [name for name in causes if name != row.cell.flow]
    which = f"the flow{'' if len(others) == 1 else 's'} that cause{'s' if len(others) == 1 else ''} them"
    return f" (with only {formatting.join(others)}, {which})" if others else ""


def alone_text(row: Row, column: str = "times_alone") -> str:
    """Return a flow's latency alongside other flows divided by its latency alone, such as `1.8 (1.5–2.2)`. Return an
    empty string if the flow was not measured alone."""
    value, low, high = (row.get(f"{column}{end}") for end in ("", "_low", "_high"))
    if value is None:
        return ""
    ends = "?" if None in (low, high) else f"{formatting.number(low, 2)}–{formatting.number(high, 2)}"
    return f"{formatting.number(value, 2)} ({ends})"


def background_sentence(rows: Iterable[Row]) -> str:
    """Return a sentence on the achieved and requested background load, or an empty string if there was no background
    load."""
    loaded = [row for row in rows if row["background"]]
    asked = formatting.distinct(str(row["background"]) for row in loaded)
    achieved = formatting.distinct(
        [
            _range([row["background_cpu_percent"] for row in loaded], "% of each core"),
            _range([row["background_memory_gb_s"] for row in loaded], "GB/s copied"),
        ]
    )
    if not achieved:
        return ""
    return f"Background load: achieved {formatting.join(achieved)}; requested {formatting.join(asked)}."


def _range(values: Sequence[float | None], unit: str) -> str:
    """Return the range of the values, such as `49 to 50 % of each core`, or an empty string if there are no values."""
    known = [value for value in values if value is not None]
    ends = formatting.distinct(formatting.number(end) for end in (min(known), max(known))) if known else []
    return f"{' to '.join(ends)} {unit}" if ends else ""
