"""The output for one cell: its latency, and why its slowest messages are slow."""

from __future__ import annotations

from rich.text import Text

from hopmeter.analysis.results.run_results import TAILS, Row
from hopmeter.report.sections import why_slow
from hopmeter.report.words import formatting
from hopmeter.report.words.workload_words import cpu_text, missed_text, parts_of, worst_text
from hopmeter.system.terminal import Console

NOT_ASKED = "not measured; `hopmeter run --why` adds a trial to each cell and reports why its slowest messages are slow"


def print_cell(console: Console, row: Row) -> None:
    """Print the result of one cell."""
    if row.cell.is_whole_workload and row["status"] == "ok":
        _print_whole(console, row)
    else:
        _print_latency(console, row)


def _print_whole(console: Console, row: Row) -> None:
    """Print the ranking criteria of a whole workload, and the ids of its flows and paths."""
    values = {"missed deadlines": missed_text(row), "worst p99": worst_text(row), "CPU": cpu_text(row)}
    console.print(Text(row.id, style="bold cyan"))
    for name, text in values.items():
        console.print(Text(f"{name}: {text or formatting.NOTHING}"))
    console.print(Text(f"flows and paths: {', '.join(part.id for part in parts_of(row))}"), soft_wrap=True)


def _percentile(row: Row, name: str) -> str:
    """Return a percentile with its interval, or `lost` if the percentile falls on a lost message. Return an empty
    string if there are too few messages."""
    value = row.p50 if name == "p50" else row.tail(name)
    if value is None:
        return f"{name} {formatting.LOST}" if row.state(name) == "lost" else ""
    return f"{name} {formatting.number(value)} {formatting.bracket(*row.interval(name))} µs"


def _print_latency(console: Console, row: Row) -> None:
    latency = ", ".join(filter(None, (_percentile(row, name) for name in ("p50", *TAILS))))
    console.print(Text(row.id, style="bold cyan"))
    console.print(Text(f"{row.headline}: {latency}" if row.ok else f"{row['status']}: {row['reason'] or ''}"))
    if row["status"] == "dropped" or row.cell.workload is not None:
        return
    console.print(Text(f"why slow: {why_slow.sentence(row) or NOT_ASKED}"), soft_wrap=True)
