"""Check whether short runs of the scenario `quick` decide the same pairs as one long run.

`python benches/first_look.py --looks 10 --rounds 40` measures one long run, then ten short runs. `--transport unix,tcp`
measures only some transports, and `--out DIR` stores the runs. A pair is clear if its ratio in the long run is 1.5 or
more. The limits apply to pairs of transports that can be installed. For each short run, the bench prints the pairs of
installable transports by payload, and the pairs with a reference.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from awake import BOUND
from ending import orderly
from pairs import HOLDS, MISSED, judge_values, values_beyond

import hopmeter
from hopmeter.analysis.ranking.rounds import Comparison, TableRanking
from hopmeter.api.runs import Run
from hopmeter.statistics import rounds_needed
from hopmeter.statistics.families import CHOICES, REFERENCES

CLEAR = 1.5
UNDECIDED = 0.1
MEASURING_S = 90.0
ROUNDS = 8
RowPair = tuple[str, str, str]
"""The key of a pair: the group of its table, and the names of both cells in alphabetical order."""


def compared_pairs(run: Run, family: str = CHOICES) -> dict[RowPair, Comparison]:
    """Return the pairs of a family that have a ratio, over all tables, by cell name. Cell ids are not used as keys,
    because a cell's id depends on the other cells."""
    names = {row.id: " ".join(filter(None, (row["transport"], row.cell["profile"]))) for row in run.results.rows}
    found = {}
    for group, table in run.results.rankings.items():
        for each in table.comparisons:
            if each.family == family and each.ratio is not None:
                turned = each if names[each.a] < names[each.b] else each.swap()
                found[group, names[turned.a], names[turned.b]] = turned
    return found


def choices_of(table: TableRanking) -> list[Comparison]:
    """Return the pairs without a reference, because only these pairs prolong a short run."""
    return [each for each in table.comparisons if each.family == CHOICES]


@dataclass(frozen=True)
class Look:
    """A short run, compared with the long run."""

    rounds: int
    """The smallest number of rounds among the tables with an undecided pair."""
    measuring_s: float
    undecided: float
    """The share of the clearly different pairs that the short run leaves undecided."""
    needed: dict[RowPair, float]
    """For each undecided but clearly different pair, the number of rounds that would decide the pair."""
    wrong: list[RowPair]
    """The pairs that the short run decides in the opposite direction of the long run."""


@dataclass(frozen=True)
class Count:
    """The numbers of clear, decided and wrongly decided pairs of a short run."""

    clear: int
    decided: int
    wrong: int

    @classmethod
    def of(cls, seen: Mapping[RowPair, Comparison], truth: Mapping[RowPair, Comparison]) -> Count:
        clear = [pair for pair, each in truth.items() if is_clear(each)]
        decided = [pair for pair in clear if pair in seen and seen[pair].decided]
        wrong = [pair for pair, each in truth.items() if pair in seen and is_wrong(seen[pair], each)]
        return cls(len(clear), len(decided), len(wrong))

    def __str__(self) -> str:
        wrong = f", {self.wrong} the wrong way" if self.wrong else ""
        return f"{self.decided} of {self.clear}{wrong}"


def count_kinds(run: Run, long: Run) -> dict[str, Count]:
    """Return the counts for pairs of choices, by payload, and for pairs with a reference."""
    seen, truth = compared_pairs(run), compared_pairs(long)
    payloads = {row.cell.group: str(row["payload"]) for row in long.results.rows}
    found = {
        payload: Count.of(seen, {pair: each for pair, each in truth.items() if payloads[pair[0]] == payload})
        for payload in dict.fromkeys(payloads[group] for group, _, _ in truth)
    }
    return found | {"references": Count.of(compared_pairs(run, REFERENCES), compared_pairs(long, REFERENCES))}


def compare(run: Run, truth: Mapping[RowPair, Comparison]) -> Look:
    """Compare a short run with the long run. Pairs that are missing from the short run count as undecided."""
    seen, groups = compared_pairs(run), {group for group, _, _ in truth}
    clear = [pair for pair, each in truth.items() if is_clear(each)]
    wrong = [pair for pair, each in truth.items() if pair in seen and is_wrong(seen[pair], each)]
    open_pairs = [pair for pair in clear if pair not in seen or not seen[pair].decided]
    tables = [table for group, table in run.results.rankings.items() if group in groups]
    still_open = [table for table in tables if not all(each.decided for each in choices_of(table))]
    return Look(
        min((max(table.ranking.rounds.values()) for table in still_open or tables), default=0),
        sum(trial["wall_s"] for trial in run.results.trials),
        len(open_pairs) / len(clear),
        {pair: rounds_to_decide(run, seen.get(pair), truth[pair]) for pair in open_pairs},
        wrong,
    )


def is_clear(each: Comparison) -> bool:
    """Return whether the pair's ratio in the long run is at least CLEAR, in either direction."""
    return abs(math.log(each.ratio or 1.0)) >= math.log(CLEAR)


def is_wrong(seen: Comparison, truth: Comparison) -> bool:
    """Return whether the short run decided a pair in the opposite direction of the long run, where the pair is decided
    or clear."""
    is_opposite = math.log(seen.ratio or 1.0) * math.log(truth.ratio or 1.0) < 0
    return seen.decided and is_opposite and (truth.decided or is_clear(truth))


def rounds_to_decide(run: Run, seen: Comparison | None, truth: Comparison) -> float:
    """Return the number of short-run rounds that would decide the long run's ratio, or infinity if it is unknown."""
    rankings = [each.ranking for each in run.results.rankings.values() if seen and seen.a in each.ranking.cells]
    found = rounds_needed(rankings[0], truth.ratio or 1.0, seen.a, seen.b) if seen and rankings else None
    return found or math.inf


def measure(out: Path, transports: str | None, looks: int, rounds: int) -> tuple[dict[RowPair, Comparison], list[Look]]:
    """Measure the long run and the short runs. Return the long run's pairs and the result of each short run.

    If the user may keep cores awake, a short run decides its pairs with cores awake, and so does the long run.
    """
    chosen = {"transport": transports} if transports else {}
    awake = os.access(BOUND, os.W_OK)
    long = hopmeter.run("quick", trials=rounds, no_idle_states=awake, out=out / "long", progress=True, **chosen)
    truth, found = compared_pairs(long), []
    for number in range(looks if any(map(is_clear, truth.values())) else 0):
        began = time.monotonic()
        run = hopmeter.run("quick", budget=f"{MEASURING_S:g}s", out=out / f"look-{number}", progress=True, **chosen)
        look, steal = compare(run, truth), fmean(trial["steal_share"] or 0.0 for trial in run.results.trials)
        times = f"{look.measuring_s:.0f} s of measuring, {time.monotonic() - began:.0f} s in all, steal {steal:.1%}"
        decided = f"{1 - look.undecided:.1%} of clear pairs decided, {len(look.wrong)} pairs the wrong way"
        kinds = "; ".join(f"{kind} {count}" for kind, count in count_kinds(run, long).items())
        print(f"look {number}: {look.rounds} rounds, {times}: {decided} ({kinds})", flush=True)
        found.append(look)
    return truth, found


def limits(looks: Sequence[Look]) -> dict[str, str]:
    """Return the verdict on each limit, by its description."""
    shares, wrong = sorted(each.undecided for each in looks), sum(len(each.wrong) for each in looks)
    slowest, fewest = max(each.measuring_s for each in looks), min(each.rounds for each in looks)
    decided = judge_values(shares, values_beyond(len(shares)), UNDECIDED)
    return {
        f"clear pairs decided: median {1 - median(shares):.1%}   limit {1 - UNDECIDED:.0%}": decided,
        f"decided the wrong way: {wrong}   limit 0": MISSED if wrong else HOLDS,
        f"measuring: at most {slowest:.0f} s   limit {MEASURING_S:g} s": HOLDS if slowest <= MEASURING_S else MISSED,
        f"rounds: at least {fewest}   limit {ROUNDS}": HOLDS if fewest >= ROUNDS else MISSED,
    }


def print_pairs(looks: Sequence[Look], truth: Mapping[RowPair, Comparison]) -> None:
    """Print the pairs that a short run decided wrongly, and the clear pairs that it left undecided."""
    for pair, each in truth.items():
        needed = [look.needed[pair] for look in looks if pair in look.needed]
        wrong = sum(pair in look.wrong for look in looks)
        if needed or wrong:
            rounds = f", needs {median(needed):g} rounds" if needed else ""
            said = f"open in {len(needed)} looks{rounds}, decided the wrong way in {wrong}"
            print(f"{pair[2]} takes {each.ratio:.2f} times as long as {pair[1]}: {said}")


def main(words: Sequence[str]) -> int:
    """Return 1 if a limit is missed, or if there is nothing to compare."""
    ask = argparse.ArgumentParser(description=__doc__)
    for name, default in (("looks", 10), ("rounds", 40)):
        ask.add_argument(f"--{name}", type=int, default=default)
    ask.add_argument("--transport")
    ask.add_argument("--out", type=Path)
    asked = ask.parse_args(words)
    with tempfile.TemporaryDirectory() as scratch:
        truth, looks = measure(asked.out or Path(scratch), asked.transport, asked.looks, asked.rounds)
    if not looks:
        print(f"not compared: no pair of the long run has a ratio of {CLEAR:g} or more")
        return 1
    print_pairs(looks, truth)
    verdicts = limits(looks)
    print(*(f"{text}: {verdict}" for text, verdict in verdicts.items()), sep="\n")
    return int(MISSED in verdicts.values())


if __name__ == "__main__":
    raise SystemExit(orderly(lambda: main(sys.argv[1:]), keeps_awake=False))
