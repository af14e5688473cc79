"""Trials that show why messages are slow. The `why` trials, one for each cell, run after all other trials. Rankings
ignore `why` trials."""

from __future__ import annotations

import random

from hopmeter.model.cell import Cell
from hopmeter.plan import Plan
from hopmeter.plan.topology import is_chain
from hopmeter.runtime.order import PlannedTrial
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.why_folder import WhyFolder

MOST_MESSAGES = 100_000
"""The maximum number of messages in a `why` trial. So many messages contain a thousand slow messages, which is enough;
more readings would need more memory."""


def why_trials(plan: Plan, folder: RunFolder) -> list[PlannedTrial]:
    """Return a `why` trial for each cell that has a good trial and no `why` trial yet. Return an empty list if the
    scenario does not request `why`."""
    if not plan.scenario.why:
        return []
    done = {cell for cell, result in WhyFolder(folder.path).results().items() if result.good}
    shown = [cell for cell in plan.runnable if not cell.comparison.alone]
    cells = [cell for cell in shown if cell.id not in done and is_chain(cell) and not cell.axes.measures_moments]
    measured = [cell for cell in cells if any(each.good for each in folder.trials_of(cell.id))]
    draw, before = random.Random(plan.seed), len(folder.trials)
    return [
        PlannedTrial(
            _shorten(cell),
            1 + max(each.trial for each in folder.trials_of(cell.id)),
            before + order,
            draw.getrandbits(63),
        )
        for order, cell in enumerate(measured)
    ]


def _shorten(cell: Cell) -> Cell:
    return cell.with_values(messages=min(cell.schedule.messages, MOST_MESSAGES))
