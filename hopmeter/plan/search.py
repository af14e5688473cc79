"""Choose the next rate of a search from the results of the previous rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hopmeter.model.cell import Cell
from hopmeter.plan.expand import length
from hopmeter.scenario import Ask, Scenario, asks
from hopmeter.scenario.search import Search

Verdicts = Mapping[float, bool]
"""Maps each tried rate to whether the transport sustained the rate."""


@dataclass(frozen=True)
class Bracket:
    """The range of the highest sustainable rate: at least `holds_hz`, and below `fails_hz`.

    A bound is None until it is known.
    """

    holds_hz: float | None
    fails_hz: float | None


def bracket(verdicts: Verdicts) -> Bracket:
    """Return a conservative bracket, which ignores a sustained rate if a lower rate failed."""
    fails = min((rate for rate, held in verdicts.items() if not held), default=None)
    holds = [rate for rate, held in verdicts.items() if held and (fails is None or rate < fails)]
    return Bracket(max(holds, default=None), fails)


def next_rate(search: Search, verdicts: Verdicts) -> float | None:
    """Return the next rate to try, or None if the search is over."""
    if not verdicts:
        return search.start
    known = bracket(verdicts)
    if known.fails_hz is None:
        rate = min((known.holds_hz or search.start) * search.factor, search.highest)
    elif known.holds_hz is None:
        rate = max(known.fails_hz / search.factor, search.lowest)
    else:
        rate = _between(search, known.holds_hz, known.fails_hz)
    rate = _round(rate)
    return None if rate in verdicts else rate


def _between(search: Search, holds_hz: float, fails_hz: float) -> float:
    """Return the geometric mean of the bracket.

    If the bracket is narrow enough, return its lower bound, which ends the search.
    """
    finest = search.factor ** (0.5**search.refine)
    # Rates are rounded, so a bracket may be slightly wider than requested.
    return holds_hz if fails_hz / holds_hz < finest * 1.001 else math.sqrt(holds_hz * fails_hz)


def _round(rate: float) -> float:
    """Round a rate to four significant digits for readability."""
    return float(f"{rate:.4g}")


def further(scenario: Scenario, steps: Sequence[Cell], rate: float) -> Cell:
    """Return the next cell of a search: a copy of the search's first cell with the given rate."""
    first = steps[0]
    at_rate = length(_ask(scenario, first), {"pace": first.axes.pace, "rate": rate})
    return first.with_values(id=f"{first.comparison.search}-{len(steps) + 1}", **at_rate)


def _ask(scenario: Scenario, cell: Cell) -> Ask:
    """Return the case of the scenario from which a cell was planned."""
    found = asks(scenario)
    return next((ask for ask in found if _is_of(cell, ask)), found[0])


def _is_of(cell: Cell, ask: Ask) -> bool:
    words = ("pattern", "wait", "cores", "payload", "relays", "sinks", "pairs", "work")
    return all(cell[word] in ask.axes[word] for word in words)
