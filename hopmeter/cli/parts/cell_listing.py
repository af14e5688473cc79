"""The result of one cell: its latency, and why its slowest messages are slow."""

from __future__ import annotations

from rich.text import Text

from hopmeter.analysis.run_results import TAILS, Row
from hopmeter.report import formatting, why_slow
from hopmeter.system.terminal import Console

NOT_ASKED = "not measured; `hopmeter run --why` measures each cell once more and says why its slowest messages are slow"


def print_cell(console: Console, row: Row) -> None:
    """Print the latency of a cell, and why its slowest messages are slow."""
    values = {"p50": row.p50, **{name: row.tail(name) for name in TAILS}}
    latency = ", ".join(
        f"{name} {formatting.number(value)} {formatting.bracket(*row.interval(name))} µs"
        for name, value in values.items()
        if value is not None
    )
    console.print(Text(row.id, style="bold cyan"))
    console.print(Text(f"{row.headline}: {latency}" if row.ok else f"{row['status']}: {row['reason'] or ''}"))
    if row["status"] == "dropped":
        return
    console.print(Text(f"why slow: {why_slow.sentence(row) or NOT_ASKED}"), soft_wrap=True)
