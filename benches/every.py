"""Run all benches one after another, and summarise their times and missed limits.

`every.py [BENCH ...]` runs all benches or the given ones, and prints the expected time first. A bench that misses a
limit, fails or hangs does not stop the others.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from awake import BOUND
from ending import Run, orderly
from pairs import PAIRS

from hopmeter.machine import description
from hopmeter.machine.advice import findings
from hopmeter.manifest import interpreter

HERE = Path(__file__).resolve().parent
TROUBLE = ("MISSED", "not resolved", "FAILED", "not measured", "not compared", "left out", "does not count")
"""Output lines that contain one of these words are repeated at the end."""
AS_WELL = "up to three times as long if a limit is missed, plus the time to build their programs"
GRACE_S = 30.0
"""How long a bench may take to stop its own programs."""
HANGS = 6
"""A bench that exceeds both this multiple of its expected time and LEAST_S counts as hung."""
LEAST_S = 600.0


@dataclass(frozen=True)
class Bench:
    """A bench file, with its expected time on two cores: a fixed time plus a time per pair."""

    name: str
    once_s: float
    pair_s: float = 0.0
    environment: str = ""
    """The environment whose Python runs the bench; if it does not exist, the current Python does."""

    @property
    def seconds(self) -> float:
        """The expected time in seconds, excluding builds and additional pairs."""
        return self.once_s + PAIRS * self.pair_s

    @property
    def command(self) -> list[str]:
        python = interpreter.own(self.environment) if self.environment else None
        return [
            str(python.program if python else sys.executable),
            "-u",
            str(HERE / f"{self.name.replace('-', '_')}.py"),
        ]


BENCHES = (
    Bench("recording", 2),
    Bench("cold", 20, 90),
    Bench("ring", 1, 2),
    Bench("peers", 30, 185),
    Bench("chain", 2, 3.5),
    Bench("analysis", 11),
    Bench("codecs", 70, 1.5, environment="frameworks"),
    Bench("gpu", 20, 3, environment="frameworks"),
    Bench("objects", 3, 20),
    Bench("hops", 1, 2),
    Bench("connect", 2, 16),
    Bench("video", 2, 8),
    Bench("starting", 65),
    Bench("agents", 90),
    Bench("site", 240),
    Bench("first-look", 1800),
)


@dataclass(frozen=True)
class Outcome:
    bench: Bench
    took_s: float
    code: int
    troubles: list[str]

    @property
    def verdict(self) -> str:
        if self.code == 0:
            return "holds"
        return "missed" if self.code == 1 and any("MISSED" in line for line in self.troubles) else "failed"


def run_bench(bench: Bench) -> Outcome:
    """Run a bench, and print its output line by line."""
    began, said = time.monotonic(), []
    with Run(GRACE_S) as run:
        process = run.start(
            bench.command, env={"PYTHONPATH": str(HERE.parent)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        hangs = threading.Timer(max(LEAST_S, HANGS * bench.seconds), process.terminate)
        hangs.start()
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                said.append(line.rstrip())
            code = process.wait()
        finally:
            hangs.cancel()
    troubles = [line for line in said if any(word in line for word in TROUBLE)]
    if code != 0 and not troubles:
        troubles = [f"it ended with {code}: {said[-1] if said else 'no output'}"]
    return Outcome(bench, time.monotonic() - began, code, troubles)


def print_summary(outcomes: Sequence[Outcome]) -> None:
    print(f"\n{'bench':12} {'took':>7}")
    for each in outcomes:
        print(f"{each.bench.name:12} {each.took_s:5.0f} s  {each.verdict}")
        for line in each.troubles:
            print(f"    {' '.join(line.split())}")
    print(f"{'all':12} {sum(each.took_s for each in outcomes):5.0f} s", flush=True)


def main(asked: Sequence[str]) -> int:
    """Run the requested benches. Return 1 if a bench missed a limit or failed, and 2 if a name is unknown."""
    if unknown := sorted(set(asked) - {each.name for each in BENCHES}):
        print(f"no bench {', '.join(unknown)}; there are {', '.join(each.name for each in BENCHES)}")
        return 2
    benches = [each for each in BENCHES if not asked or each.name in asked]
    minutes = math.ceil(sum(each.seconds for each in benches) / 60)
    print(f"{len(benches)} benches of {PAIRS} pairs: about {minutes} minutes, {AS_WELL}")
    for each in findings({**description.describe(), "no_idle_states": os.access(BOUND, os.W_OK)}):
        if each["level"] == "hurts":
            print(f"problem on this machine, {each['subject']}: {each['says']} ({each['remedy']})")
    outcomes: list[Outcome] = []
    try:
        for each in benches:
            print(f"\n{each.name}: about {each.seconds:.0f} s", flush=True)
            outcomes.append(run_bench(each))
    finally:
        print_summary(outcomes)
    return int(any(each.code != 0 for each in outcomes))


if __name__ == "__main__":
    raise SystemExit(orderly(lambda: main(sys.argv[1:])))
