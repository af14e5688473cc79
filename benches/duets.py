"""Compare the smallest change that duets detect with the smallest change that sequential trials detect.

Both sides of every comparison are the same cell: `python benches/duets.py unix zeromq --rounds 60`. Each round has
three kinds of trials in random order: a duet, two sequential trials, and one side that takes its turns alone. The
trials of one side alone show what an idle neighbour costs.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from ending import orderly
from numpy.typing import NDArray

from hopmeter.api.planning import prepare
from hopmeter.comparison.interleaved import estimate
from hopmeter.plan import Cell
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.duets import SIDES, TURN_S
from hopmeter.plan.spec import Turns
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import Outcome, execute_duet, execute_trial
from hopmeter.runtime.work import Work, programs
from hopmeter.statistics import Observation, fit, pair_turns
from hopmeter.statistics.verdicts import verdict
from hopmeter.store.samples import read_raw
from hopmeter.system.scratch_dir import ScratchDir
from hopmeter.system.terminal import Console

CHANGE, TABLES, ALPHA = 1.03, 200, 0.05
KINDS = ("duet", "interleaved", "lone")
GIVEN = {"payload": ["bytes:100"], "rate": [1000.0], "messages": 400, "warmup": 20}


@dataclass(frozen=True)
class Side:
    """The result of one side in a successful trial: the responses in µs, the median of each turn, and the steal
    share."""

    responses_us: NDArray[np.float64]
    turns_us: Sequence[float]
    steal: float | None

    @classmethod
    def of(cls, outcome: Outcome) -> Side:
        """Return the side from the raw samples of a trial with one source and one sink."""
        source, sink = (read_raw(path) for path in outcome.raw_files)
        _, sent, arrived = np.intersect1d(source["seq"], sink["seq"], return_indices=True)
        due = source["due_ns"][sent]
        took_us = (sink["arrived_ns"][arrived] - due) / 1000
        turns = (due - outcome.result.start_ns) // round(SIDES * TURN_S * 1e9)
        return cls(
            took_us, [float(np.median(took_us[turns == turn])) for turn in np.unique(turns)], outcome.result.steal_share
        )

    @property
    def median_us(self) -> float:
        return float(np.median(self.responses_us))


Round = dict[str, list[Side]]


class Measuring:
    """Measures rounds in which both sides are the same cell."""

    def __init__(self, cell: Cell, capabilities: Capabilities, alarm: Alarm, ground: ScratchDir, logs: Path) -> None:
        manifest = capabilities.manifests[cell.axes.transport]
        self._work = Work(cell, 0, 0, 0, manifest, programs(cell, capabilities.ready), logs)
        self._alarm, self._ground = alarm, ground

    def round(self) -> Round:
        """Run each kind of trial once, in random order, and leave out kinds with a failed trial."""
        found = {kind: list(self._measure(kind)) for kind in random.sample(KINDS, len(KINDS))}
        return {kind: sides for kind, sides in found.items() if len(sides) == (1 if kind == "lone" else SIDES)}

    def _measure(self, kind: str) -> Iterator[Side]:
        with ExitStack() as ends:
            if kind == "duet":
                outcomes = ends.enter_context(execute_duet([self._work] * SIDES, TURN_S, self._ground, self._alarm))
                yield from (Side.of(each) for each in outcomes if each.result.good)
                return
            turns = Turns(TURN_S, SIDES, 0) if kind == "lone" else None
            for _ in range(1 if kind == "lone" else SIDES):
                with execute_trial(self._work, self._ground, self._alarm, turns) as outcome:
                    yield from [Side.of(outcome)] if outcome.result.good else []


def compared_values(kind: str, sides: Sequence[Side]) -> tuple[float, float]:
    """Return the value that a comparison uses for each side."""
    if kind == "duet":
        return pair_turns(sides[0].turns_us, sides[1].turns_us) or (math.nan, math.nan)
    return sides[0].median_us, sides[1].median_us


def judge(kind: str, rounds: Sequence[Sequence[Side]], change: float) -> tuple[bool, str, float]:
    """Judge the rounds with the new side's values multiplied by `change`. Return whether a slowdown was found, the
    verdict, and the smallest detectable ratio."""
    seen = []
    for number, sides in enumerate(rounds):
        old, new = compared_values(kind, sides)
        seen += [
            Observation("old", number, old, sides[0].steal),
            Observation("new", number, new * change, sides[1].steal),
        ]
    found = estimate(fit(seen).pairs[0], "new")
    low, high = found.bounds(ALPHA)
    return low > 1, verdict(math.exp(found.difference), low, high), found.detectable(ALPHA)


def report(kind: str, rounds: Sequence[Sequence[Side]], many: int) -> str:
    """Format the results of many tables drawn from the rounds; swapping the sides at random makes both sides equal."""
    false, found, smallest = 0, 0, []
    for _ in range(TABLES):
        drawn = [random.sample(list(each), SIDES) for each in random.choices(rounds, k=many)]
        _, said, detectable = judge(kind, drawn, 1.0)
        false += said not in ("same", "undecided")
        found += judge(kind, drawn, CHANGE)[0]
        smallest.append(detectable)
    return f"{kind:12}{many:8}{false / TABLES:8.1%}{found / TABLES:10.0%}{median(smallest) - 1:11.1%}"


def report_cost(rounds: Sequence[Round], numerator: str, denominator: str) -> str:
    """Format how much slower one kind of trial is than another, as medians of the ratios within rounds."""
    both = [(each[numerator][0], each[denominator][0]) for each in rounds if {numerator, denominator} <= each.keys()]
    shown = []
    for share in (0.1, 0.25, 0.5):
        ratios = [float(np.quantile(a.responses_us, share) / np.quantile(b.responses_us, share)) for a, b in both]
        spread = [median(random.choices(ratios, k=len(ratios))) for _ in range(1000)]
        low, high = np.quantile(spread, (ALPHA / 2, 1 - ALPHA / 2))
        shown.append(f"p{round(100 * share)} {median(ratios):.3f} [{low:.3f}, {high:.3f}]")
    return f"{numerator} / {denominator}: {', '.join(shown)}"


def main(words: Sequence[str] | None = None) -> int:
    """Measure all transports in alternating rounds, and print which changes their tables detect."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("transports", nargs="+")
    ask.add_argument("--rounds", type=int, default=60)
    ask.add_argument("--no-idle-states", action="store_true", help="keep idle cores awake")
    asked = ask.parse_args(words)
    rounds: Mapping[str, list[Round]] = {name: [] for name in asked.transports}
    with tempfile.TemporaryDirectory() as logs, Alarm() as alarm, ScratchDir() as ground:
        tables = {
            name: Measuring(*cell_of(name, asked.no_idle_states), alarm, ground, Path(logs))
            for name in asked.transports
        }
        for _ in range(asked.rounds):
            for name, measuring in tables.items():
                alarm.check()
                rounds[name].append(measuring.round())
    for name, own in rounds.items():
        print(f"\n{name}, {len(own)} rounds measured\nkind          rounds   false  3 % found  detectable")
        for kind, many in [(kind, many) for kind in KINDS[:SIDES] for many in (12, 30, 60)]:
            print(report(kind, [each[kind] for each in own if kind in each], many), flush=True)
        print(report_cost(own, "duet", "lone"), report_cost(own, "lone", "interleaved"), sep="\n")
    return 0


def cell_of(transport: str, no_idle_states: bool) -> tuple[Cell, Capabilities]:
    """Return the cell of a transport, and the capabilities of this machine."""
    asked = GIVEN | {"transport": [transport], "language": ["one"], "no_idle_states": no_idle_states}
    made = prepare("quick", asked, [], full=False, against=None, console=Console(stderr=True))
    return next(cell for cell in made.plan.runnable if cell.axes.transport == transport), made.capabilities


if __name__ == "__main__":
    raise SystemExit(orderly(main))
