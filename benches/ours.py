"""Measure with hopmeter's own planner, nodes and analysis, without floors, machine description or report.

The omitted parts take longer than a trial. Everything that can change a result is the same as in `hopmeter run`.
"""

from __future__ import annotations

import tempfile
import tomllib
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from hopmeter import manifest, plan
from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.cores import Machine
from hopmeter.runtime.executor import Executor
from hopmeter.scenario import Scenario
from hopmeter.store.run_folder import RunFolder
from hopmeter.system.terminal import Console
from hopmeter.system.toml_files import validate


class NothingMeasuredError(Exception):
    """A scenario has no cell to measure, or a cell failed; the message gives the reason and a remedy."""


@cache
def capabilities(transports: tuple[str, ...]) -> Capabilities:
    """Return the capabilities of the given transports only, because checking all transports takes seconds."""
    known = {name: each for name, each in manifest.every().items() if name in transports}
    return Capabilities(known, manifest.readiness_of_all(known.values()), Machine.here())


@cache
def _make_plan(scenario: str) -> tuple[Plan, Capabilities]:
    asked = tomllib.loads(scenario)
    names = asked["transport"]
    here = capabilities(tuple([names] if isinstance(names, str) else names))
    made = plan.make("bench", validate(Scenario, asked, "the bench's scenario"), here)
    ranked = [cell for cell in made.cells if cell.comparison.ranked]
    if dropped := [cell.dropped for cell in ranked if cell.dropped]:
        raise NothingMeasuredError("; ".join(dropped))
    return Plan(made.name, made.scenario, ranked, made.seed), here


def hopmeter(scenario: str) -> list[dict[str, Any]]:
    """Measure every cell of a TOML scenario with new nodes, and return one row per cell.

    Raises NothingMeasuredError if a cell was dropped or failed.
    """
    made, here = _make_plan(scenario)
    said = StringIO()
    with tempfile.TemporaryDirectory() as results:
        about = {"cells": [cell.as_json() for cell in made.cells]}
        folder = RunFolder.create(Path(results), made.name, about)
        if not Executor(made, here, folder, Console(file=said)).run():
            raise KeyboardInterrupt
        rows = analyse_run(folder)
    if failed := [
        f"{row['transport']} ({row['language']}): {row['reason']}" for row in rows if row["status"] == "failed"
    ]:
        raise NothingMeasuredError("; ".join(failed))
    return rows
