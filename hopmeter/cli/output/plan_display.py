"""The output of `hopmeter run` before the measurement: the plan, or why nothing can be measured."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hopmeter.api.planning import Prepared, is_measurable
from hopmeter.cli.output import plan_table
from hopmeter.plan import Cell, Plan
from hopmeter.system.terminal import Console

NOTHING_TO_RUN = 2


def show_plan(prepared: Prepared, console: Console, as_json: bool, command: Sequence[str] = ()) -> int:
    """Print the planned cells without measuring them, and return the exit code."""
    made = prepared.plan
    if as_json:
        for cell in made.cells:
            status = "dropped" if cell.dropped else "planned"
            print(json.dumps({**cell.flat(), "group": cell.group, "cell": cell.id, "status": status}))
    else:
        plan_table.print_plan(console, made, prepared.notes, command)
    return 0 if made.runnable else NOTHING_TO_RUN


def show_unmeasurable(made: Plan, console: Console, as_json: bool) -> None:
    """Print the reason for each dropped cell if no cell can be measured."""
    if not is_measurable(made):
        _print_dropped(console, made.cells, as_json)


def _print_dropped(console: Console, cells: Sequence[Cell], as_json: bool) -> None:
    if as_json:
        for cell in cells:
            if cell.dropped:
                print(json.dumps({**cell.flat(), "cell": cell.id, "status": "dropped", "reason": cell.dropped}))
    else:
        plan_table.print_dropped(console, [(cell, cell.dropped) for cell in cells if cell.dropped])
