"""Tables of the resources of each process of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from hopmeter.analysis.cost.process_use import Process, mapped_mb, processes
from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report import conditions, formatting
from hopmeter.report.process_table import COLUMNS, ProcessRow, process_rows, statistics, text
from hopmeter.system.tables import open_table, print_whole, width
from hopmeter.system.terminal import Console

MAPPED = "shared_mapped_mb"
LEGEND = (
    "Median of the good trials; brackets: minimum and maximum. CPU is user and system time in % of a "
    "core, without the time that a source spun to be punctual. Switches are context switches."
)


def print_processes(console: Console, run: Run) -> None:
    """Print a table for each group of comparable rows, a line for each process."""
    found = [(group, process_rows(group)) for group in groups([run])]
    for group, rows in found:
        if rows:
            _print_group(console, group, rows)
    console.print()
    is_known = any(rows for _, rows in found)
    console.print(Text(LEGEND if is_known else "no process of this run reported what it used", style="dim"))


def print_json(run: Run) -> None:
    """Print a line of JSON for each process of a cell."""
    for row in run.rows:
        if row.cell.flow or row.cell.path:
            continue  # the processes belong to the whole workload
        for process in processes(row):
            named = {"cell": row.id, **{name: row[name] for name in ("transport", "profile")}}
            print(json.dumps({**named, **process.as_json()}))


def _print_group(console: Console, group: Group, rows: Sequence[ProcessRow]) -> None:
    """Drop the last columns on a narrow terminal."""
    shown = [*statistics(rows), *([MAPPED] if any(mapped_mb(each.row) for each in rows) else [])]
    while width(console, table := _table(rows, shown)) > console.width and console.is_terminal and len(shown) > 1:
        shown.pop()
    console.print()
    console.print(Text(conditions.title(group), style="bold cyan"))
    print_whole(console, table)


def _table(rows: Sequence[ProcessRow], shown: Sequence[str]) -> Table:
    table = open_table()
    for head in ("", "participant" if rows[0].row.cell.workload is not None else "process"):
        table.add_column(head, no_wrap=True)
    for name in shown:
        table.add_column(_head(name), justify="right", no_wrap=True)
    for row in rows:
        for number, process in enumerate(row.processes):
            table.add_row(*_line(row, process, shown, first=number == 0))
    return table


def _head(name: str) -> str:
    """Return the column of the report's table, on two lines."""
    if name == MAPPED:
        return "shared\nMB"
    return f"{COLUMNS[name].title}\n{COLUMNS[name].unit}"


def _line(row: ProcessRow, process: Process, shown: Sequence[str], first: bool) -> list[str]:
    name = process.name + (f" ({process.language})" if process.language not in ("", row.row["language"]) else "")
    return [row.name if first else "", name, *(_value(process, each) for each in shown)]


def _value(process: Process, name: str) -> str:
    """Only CPU has its spread, since a terminal is narrow; `--json` has all of them."""
    found = process[name]
    if found is None:
        return formatting.NOTHING
    if name != "cpu_percent":
        return text(found)
    return f"{text(found)} {formatting.bracket(found.low, found.high)}" if found.high > found.low else text(found)
