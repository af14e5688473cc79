"""Choose the cells of a plan that answer its question within the time budget, and compute the minimum budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hopmeter.errors import UsageError
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.plan.budget_advice import fewer_cells
from hopmeter.plan.make import Plan, scheduled_s
from hopmeter.plan.rules import languages
from hopmeter.scenario.resolve import least_rounds
from hopmeter.system import humanize

LEVEL_ROUNDS = 3
"""The number of rounds for cells that only show latency levels. The ranking comes from the corresponding cells with
idle states disabled."""
START_S = 0.1
"""The assumed time, in seconds, for starting and stopping the nodes of a trial. This assumption is used until a trial
has been measured."""
PYTHON_START_S = 0.3
"""The assumed time, in seconds, for starting and stopping the nodes of a trial with a Python node."""
AS_IT_IS = tag(
    "W-AS-IT-IS",
    "idle cores sleep while messages are measured, which adds their wake-up latency and its noise to all results; "
    "if hopmeter may write /dev/cpu_dma_latency (as root, or after `sudo chmod o+w /dev/cpu_dma_latency`), it also "
    "measures with cores kept awake, and those rounds decide the order",
)


def trial_s(cell: Cell) -> float:
    """Estimate the duration of a trial in seconds, including the start and stop of its nodes."""
    return scheduled_s(cell) + (PYTHON_START_S if "python" in languages(cell) else START_S)


def shows_level(cell: Cell, plan: Plan) -> bool:
    """Return whether a cell shows latency levels but is not used for the ranking.

    The ranking comes from the cell that has the same conditions, but idle states disabled.
    """
    both = any(other.nodes.no_idle_states for other in plan.runnable)
    return plan.scenario.no_idle_states == "both" and both and not cell.nodes.no_idle_states


def notes(plan: Plan) -> list[str]:
    """Return notes about a plan that the user should read before the run."""
    wants_both = plan.scenario.no_idle_states == "both" and plan.scenario.budget_s
    return [AS_IT_IS] if wants_both and not any(cell.nodes.no_idle_states for cell in plan.runnable) else []


def least_s(plan: Plan, cells: Sequence[Cell] | None = None) -> float:
    """Estimate how many seconds the minimum number of rounds takes for `cells` or, by default, for all runnable
    cells."""
    level, deciding = min(LEVEL_ROUNDS, least_rounds(plan.scenario)), least_rounds(plan.scenario)
    chosen = plan.runnable if cells is None else cells
    return sum(trial_s(cell) * (level if shows_level(cell, plan) else deciding) for cell in chosen)


def check(plan: Plan) -> None:
    """Raise UsageError if the time budget is too short for the minimum number of rounds."""
    given_s = plan.scenario.budget_s
    if given_s is None or (needed_s := least_s(plan)) <= given_s:
        return
    fewer = fewer_cells(plan, given_s, lambda cells: least_s(plan, cells))
    raise UsageError(
        "E-BUDGET-SHORT",
        f"a budget of {plan.scenario.budget} is too short for {least_rounds(plan.scenario)} rounds of "
        f"{len(plan.runnable)} cells, which take about {humanize.time(math.ceil(needed_s))}",
        f"--budget {math.ceil(needed_s)}s, {f'fewer cells such as {fewer}, ' if fewer else ''}shorter trials, or "
        "--trials for a fixed number of trials",
    )
