"""Tables of the resources that each process of a run used."""

from __future__ import annotations

import json

from markupsafe import Markup
from rich.text import Text

from hopmeter.analysis.cost.process_use import processes
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.tables.processes import process_tables
from hopmeter.report.tables.terminal import print_table
from hopmeter.system.terminal import Console

NONE = "no process of this run reported its resources"


def print_processes(console: Console, run: Run) -> None:
    """Print a table for each group of comparable rows, with a line for each process."""
    found = process_tables(groups([run]))
    for table in found:
        console.print()
        console.print(Text(table.label.partition(", ")[2], style="bold cyan"))
        print_table(console, table)
    console.print()
    captions = [Markup(table.caption).striptags() for table in found]
    console.print(Text(max(captions, key=len, default=NONE), style="dim"))


def print_json(run: Run) -> None:
    """Print each process of each cell as a line of JSON."""
    for row in run.rows:
        if row.cell.flow or row.cell.path:
            continue  # the row of the whole workload already lists the processes of its flows
        for process in processes(row):
            named = {"cell": row.id, **{name: row[name] for name in ("transport", "profile")}}
            print(json.dumps({**named, **process.as_json()}))
