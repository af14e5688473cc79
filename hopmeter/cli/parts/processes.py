"""What each process of a run used, as tables in the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from hopmeter.report import formatting
from hopmeter.report.grouping import Group, groups
from hopmeter.report.processes import Process, Used, is_sampled, is_shared, processes, used
from hopmeter.report.source import Run
from hopmeter.system.tables import WIDEST, print_whole
from hopmeter.system.terminal import Console

FIGURES = {
    "cpu_percent": "CPU %",
    "sampled_percent": "sampled %",
    "user_percent": "user",
    "system_percent": "system",
    "cpu_us_per_message": "µs\n/message",
    "rss_peak_mb": "peak\nMB",
    "voluntary_switches_per_message": "gave way\n/message",
    "involuntary_switches_per_message": "taken off\n/message",
    "minor_faults_per_message": "faults\n/message",
    "shared_mapped_mb": "shared\nMB",
}
"""A narrow terminal has the first of them."""
LEGEND = (
    "Of each figure the middle of the good trials; ± reaches to the farther of the least and the most. CPU is user and "
    "system time, in % of a core, without what a source spun to be punctual; gave way and taken off are voluntary and "
    "involuntary context switches."
)


def print_processes(console: Console, run: Run) -> None:
    """A table for each set of rows that may be compared, a line a process."""
    found = [(group, used(group)) for group in groups([run])]
    for group, rows in found:
        if rows:
            _print_group(console, group, rows)
    console.print()
    said = LEGEND if any(rows for _, rows in found) else "no process of this run told what it used"
    console.print(Text(said, style="dim"))


def print_json(run: Run) -> None:
    """An object a line, a line a process of a cell."""
    for row in run.rows:
        for process in processes(row):
            named = {"cell": row.id, **{name: row[name] for name in ("transport", "profile")}}
            print(json.dumps({**named, **process.as_json()}))


def _print_group(console: Console, group: Group, rows: Sequence[Used]) -> None:
    aside = {"sampled_percent": not is_sampled(rows), "shared_mapped_mb": not is_shared(rows)}
    shown = [name for name in FIGURES if not aside.get(name)]
    while _width(console, table := _table(rows, shown)) > console.width and console.is_terminal and len(shown) > 1:
        shown.pop()
    console.print()
    console.print(Text(group.title, style="bold cyan"))
    print_whole(console, table)


def _width(console: Console, table: Table) -> int:
    return console.measure(table, options=console.options.update(max_width=WIDEST)).maximum


def _table(rows: Sequence[Used], shown: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for head in ("", "process"):
        table.add_column(head, no_wrap=True)
    for name in shown:
        table.add_column(FIGURES[name], justify="right", no_wrap=True)
    for row in rows:
        for number, process in enumerate(row.processes):
            table.add_row(*_line(row, process, shown, first=number == 0))
    return table


def _line(row: Used, process: Process, shown: Sequence[str], first: bool) -> list[str]:
    name = process.name + (f" ({process.language})" if process.language not in ("", row.row["language"]) else "")
    return [row.name if first else "", name, *(_figure(process, each) for each in shown)]


def _figure(process: Process, name: str) -> str:
    """The spread beside CPU alone: a terminal is narrow, and `--json` has them all."""
    found = process[name]
    if found is None:
        return formatting.NOTHING
    if name != "cpu_percent":
        return found.text
    reach = max(found.high - found.middle, found.middle - found.low)
    return f"{found.text} ±{formatting.number(reach, 2):>5}" if reach else f"{found.text}       "
