"""A collapsed section that explains the slowest messages, with a line for each row."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.cost.slow_messages import LEAST_SLOW, PARTS
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.sections.section import Section
from hopmeter.report.words import conditions, formatting

WORDS = {
    "running": "running",
    "core_wait": "waiting for a core",
    "waking": "waking up or in the transport",
    "behind": "queued behind earlier messages",
    "work_sleep": "in requested sleep",
    "stolen": "stolen by the hypervisor",
    "unknown": "unknown",
}
LEAST_SHARE = 0.005
"""A cause with a smaller share of the latency than this is not mentioned."""
MOST_ROWS, MOST_PARTS = 4, 2
"""The maximum number of rows in a run's summary, and of parts for each row."""
EXPLANATION = (
    "These values come from an additional trial of each row, which no other value of this report includes. In this "
    "trial, each thread reads the kernel's counters at every message. The shares divide the latency of the slowest "
    "messages by what the thread that held the message was doing."
)


def sections(group: Group) -> list[Section]:
    """Return a list with the section on slow messages, or an empty list if the run did not analyse its slowest
    messages."""
    found = [(group.label(row), text) for row in group.rows if (text := sentence(row))]
    if not found:
        return []
    title = "Why the slowest messages are slow"
    return [Section(title, sentences=[EXPLANATION], terms=found, style="processes", fold="closed")]


def summary(groups: Sequence[Group]) -> list[str]:
    """Return a line for each row, slowest first, such as `nng (rust): 73 % waiting for a core, …`."""
    known = [(group, row) for group in groups for row in group.rows if row["why_messages"]]
    known = sorted(known, key=lambda each: -each[1].number("why_mean_us"))
    lines = [f"{_name(group, row)}: {_short(row)}" for group, row in known]
    return formatting.first(lines, MOST_ROWS, "other row", "other rows")


def _name(group: Group, row: Row) -> str:
    return ", ".join([formatting.row_name(row), *conditions.variations(group)])


def _short(row: Row) -> str:
    """Return the mean latency of a row's slowest messages, and the main parts of this latency."""
    mean = formatting.microseconds(row["why_mean_us"])
    return f"slowest {_which(row['why_messages'] or 0)}, mean {mean}: {formatting.join(_parts(row)[:MOST_PARTS])}"


def sentence(row: Row) -> str:
    """Return the breakdown of a row's slowest messages, such as `slowest 1 % (20 messages), at least 812 µs …`. Return
    an empty string if the run did not measure the slowest messages."""
    messages = row["why_messages"]
    if not messages:
        return row["why_note"] or ""
    least, mean = formatting.microseconds(row["why_over_us"]), formatting.microseconds(row["why_mean_us"])
    words = [
        f"slowest {_which(messages)}, at least {least}, mean {mean}: {formatting.join(_parts(row))}",
        _faults(row),
        f"stolen time {formatting.percent((row['why_steal_percent'] or 0) / 100)} of a core",
        f"median of this trial {formatting.microseconds(row['why_p50_us'])}, "
        f"of the row {formatting.microseconds(row.p50)}",
        str(row["why_note"] or ""),
    ]
    return "; ".join(filter(None, words))


def _which(messages: int) -> str:
    """Return how many messages count as the slowest, such as `1 % (20 messages)`. In a short trial, the slowest
    messages are more than 1 % of all messages, so the text contains only their number."""
    named = f"{formatting.count(messages)} messages"
    return f"1{formatting.THIN}% ({named})" if messages > LEAST_SLOW else named


def _parts(row: Row) -> Sequence[str]:
    """Return the parts of the slowest messages' latency with their shares, largest first."""
    shares = {name: row.get(f"why_{name}") or 0.0 for name in (*PARTS, "unknown")}
    shown = sorted((name for name in shares if shares[name] >= LEAST_SHARE), key=lambda name: -shares[name])
    return [f"{formatting.percent(shares[name])} {WORDS[name]}" for name in shown]


def _faults(row: Row) -> str:
    minor, major = row["why_minor_faults"], row["why_major_faults"]
    usual = row["why_usual_minor_faults"]
    disk = f", {formatting.number(major)} of them from disk" if major else ""
    every = formatting.number((minor or 0) + (major or 0))
    return f"page faults per message {every}{disk} (other messages {formatting.number(usual)})"
