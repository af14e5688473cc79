"""Run the real command over `synthetic`, and recompute the transport's plan from the formulas in its README."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tests.command import Ran, hopmeter

MASK = (1 << 64) - 1
SCENARIO = """
title = "Known truth"
question = "Is a transport that misbehaves by plan measured as exactly that?"
transport = "synthetic"
language = "rust"
placement = "thread"
wait = "block"
cores = "cross"
payload = "bytes:100"
rate = 2000
messages = 1000
trials = 2
"""
Case = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    rows: dict[str, dict[str, Any]]
    folder: Path

    def service_us(self, name: str) -> NDArray[np.float64]:
        """Return the service time of each message of all trials, from the last receiver's samples."""
        paths = sorted((self.folder / "samples").glob(f"{self.rows[name]['cell']}-*.parquet"))
        samples = [pq.read_table(path, filters=[("endpoint", "=", 1)]).sort_by("seq") for path in paths]
        return np.concatenate([_us(each["arrived_ns"]) - _us(each["sent_ns"]) for each in samples])


def _us(column: Any) -> NDArray[np.float64]:
    return np.asarray(column.to_numpy(), np.float64) / 1000


def measure(folder: Path, cases: dict[str, Case], *options: str, drain: str = "100ms") -> Measured:
    """Measure all cases in one `hopmeter run`."""
    done = run(folder, cases, "--json", *options, drain=drain)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    mine = [row for row in rows if row["transport"] == "synthetic"]
    assert len(mine) == len(cases), f"{done.returncode}: {done.stderr}"
    return Measured(dict(zip(cases, mine, strict=True)), folder / "run")


def run(folder: Path, cases: dict[str, Case], *options: str, drain: str = "100ms") -> Ran:
    """Run `hopmeter run` for all cases; its results go to `folder / "run"`."""
    scenario = folder / "known-truth.toml"
    scenario.write_text(f'{SCENARIO}drain = "{drain}"\n' + "".join(_format_case(case) for case in cases.values()))
    return hopmeter("run", scenario, "--out", folder / "run", "--no-report", *options)


def _format_case(case: Case) -> str:
    axes = [f"{name} = {json.dumps(value)}" for name, value in case.items() if name != "plan"]
    plan = ", ".join(f"{name} = {json.dumps(value)}" for name, value in case["plan"].items())
    return "\n".join(["[[case]]", *axes, f"settings.synthetic = {{ {plan} }}", ""])


def mix(word: int) -> int:
    """Return SplitMix64, as defined in the README."""
    word = (word + 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def evenly(seq: int, draw: int, seed: int) -> float:
    """Return the uniform random number `u(s, k)` of the README."""
    return float(mix((mix(seed) + 3 * seq + draw) & MASK) >> 11) / float(1 << 53)


def exponential(seq: int, seed: int) -> float:
    """Return the random delay `d(s)` of the README for `jitter = exponential`."""
    return -math.log(1.0 - evenly(seq, 1, seed))


def lognormal(seq: int, seed: int) -> float:
    """Return the random delay `d(s)` of the README for `jitter = lognormal`."""
    normal = math.sqrt(-2 * math.log(1 - evenly(seq, 1, seed))) * math.cos(2 * math.pi * evenly(seq, 2, seed))
    return math.exp(normal)
