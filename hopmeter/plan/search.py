"""Choose the next rate that a search tries, from the results of the rates that it has tried."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.plan.expand import length
from hopmeter.scenario import Ask, Scenario, asks
from hopmeter.scenario.search import Search

Verdicts = Mapping[float, bool]
"""Maps each tried rate to whether the transport sustained the rate."""
FLOOD = 0
"""The round of the first cell of a repeated search, which sends as fast as the transport accepts messages."""
FLOOD_BYTES = 256_000_000
"""The most bytes that a flood may send, because a transport may queue all of them in memory."""
FLOOD_DRAIN_S = 0.5
"""How long receivers wait for the messages of a flood, which may be in a queue."""
FLOOD_WARMUP = 20
"""The most warm-up messages of a flood. The messages of a flood queue behind its warm-up messages."""
LEAST_FLOOD = 20
"""The minimum number of messages in a flood, however large the messages are."""
AFTER_FLOOD = 0.7
"""The first rate of a repeated search, as a share of the rate that arrived during the flood. Most transports keep up
with 0.5 to 0.9 times this rate."""
LONGEST_STEP_S = 5.0
"""The longest time for which a step of a repeated search extends its duration to get the minimum number of messages."""
LEAST_STEP = 20
"""The minimum number of messages of a step, however long these messages take; enough to see whether a queue grows."""
MOST_STEPS = 16
"""The most rates that one round of a search tries."""


@dataclass(frozen=True)
class Bracket:
    """The range in which the highest sustainable rate lies: at least `holds_hz`, and below `fails_hz`.

    A bound of the range is None until the search has found it.
    """

    holds_hz: float | None
    fails_hz: float | None


def bracket(verdicts: Verdicts) -> Bracket:
    """Return a bracket from the rates that held and failed. A rate that held is ignored if a lower rate failed."""
    fails = min((rate for rate, held in verdicts.items() if not held), default=None)
    holds = [rate for rate, held in verdicts.items() if held and (fails is None or rate < fails)]
    return Bracket(max(holds, default=None), fails)


def next_rate(search: Search, verdicts: Verdicts) -> float | None:
    """Return the rate that the search tries next, or None if the search is over."""
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
    """Return the geometric mean of the two bounds of the bracket.

    If the bracket is narrow enough, return its lower bound, with which the search ends.
    """
    finest = search.factor ** (0.5**search.refine)
    # Rates are rounded, so a bracket may be slightly wider than requested.
    return holds_hz if fails_hz / holds_hz < finest * 1.001 else math.sqrt(holds_hz * fails_hz)


def begin_rounds(cells: Iterable[Cell]) -> list[Cell]:
    """Turn the first cell of each repeated search into a flood, and limit how many bytes each flood sends."""
    return [_flood(cell) for cell in cells]


def _flood(cell: Cell) -> Cell:
    most = max(LEAST_FLOOD, FLOOD_BYTES // max(1, cell.carriage.frame_bytes))
    messages = min(cell.schedule.messages, most)
    warmup, drain_s = min(FLOOD_WARMUP, messages // 10), max(FLOOD_DRAIN_S, cell.schedule.drain_s)
    return cell.with_values(search_round=FLOOD, messages=messages, warmup=warmup, drain_s=drain_s)


def first_rate(search: Search, near_hz: float, seed: str) -> float:
    """Return the rate with which a round of a search begins: a random rate near `near_hz`.

    The rates of a round form a geometric grid with the ratio `search.factor`. The random first rate shifts the grid, so
    that the errors of different rounds are independent and cancel out on average.
    """
    shift = random.Random(seed).uniform(-0.5, 0.5)
    return _within(search, near_hz * search.factor**shift)


def next_rate_in_round(search: Search, first_hz: float, verdicts: Verdicts) -> float | None:
    """Return the rate that a round of a search tries next, or None if the round is over.

    On a logarithmic scale, each step away from the first rate is twice as long as the previous step, until one rate has
    held and one has failed. When one rate has held and one has failed, the round bisects the grid between them.
    """
    if not verdicts:
        return first_hz
    known, tried = bracket(verdicts), len(verdicts)
    stride = search.factor ** (2 ** (tried - 1))
    if known.fails_hz is None:
        rate = (known.holds_hz or first_hz) * stride
    elif known.holds_hz is None:
        rate = known.fails_hz / stride
    else:
        steps = round(math.log(known.fails_hz / known.holds_hz, search.factor))
        rate = known.holds_hz * search.factor ** (steps // 2)
    rate = _within(search, rate)
    return None if rate in verdicts or tried >= MOST_STEPS else rate


def rate_of_round(verdicts: Verdicts) -> float | None:
    """Return the highest sustainable rate that a round found: the geometric mean of the highest rate that held and the
    lowest rate that failed. Return None if no rate of the round held, or if none failed."""
    known = bracket(verdicts)
    found = known.holds_hz and known.fails_hz
    return math.sqrt((known.holds_hz or 0.0) * (known.fails_hz or 0.0)) if found else None


def _within(search: Search, rate: float) -> float:
    return _round(min(max(rate, search.lowest), search.highest))


def _round(rate: float) -> float:
    """Round a rate to four significant digits for readability."""
    return float(f"{rate:.4g}")


def further(scenario: Scenario, steps: Sequence[Cell], rate: float, number: int | None = None) -> Cell:
    """Return the next cell of a search: a copy of the search's first cell with the given rate. `number` is the round of
    a repeated search."""
    first, ask = steps[0], _ask(scenario, steps[0])
    if number:
        most = max(LEAST_STEP, math.ceil(rate * LONGEST_STEP_S))
        ask = replace(ask, least=min(ask.least, most))
    at_rate = length(ask, {"pace": "open", "rate": rate, "begin": first.axes.begin, "restart": first.axes.restart})
    name = f"{first.comparison.search}-{len(steps) + 1}"
    drain_s = units.seconds(scenario.drain)
    return first.with_values(id=name, pace="open", search_round=number, drain_s=drain_s, **at_rate)


def _ask(scenario: Scenario, cell: Cell) -> Ask:
    """Return the case of the scenario from which a cell was planned."""
    found = asks(scenario)
    return next((ask for ask in found if _is_of(cell, ask)), found[0])


def _is_of(cell: Cell, ask: Ask) -> bool:
    words = ("pattern", "wait", "cores", "payload", "relays", "sinks", "pairs", "work")
    return all(cell[word] in ask.axes[word] for word in words)
