"""Ours against theirs: interleaved pairs, the median of their ratios, and an interval for it."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAIRS = 10
"""Ten pairs give the median an interval (the second to the ninth ratio, 97.9 %) that one outlier does not move."""


@dataclass
class Comparison:
    """One question: what ours costs in terms of theirs. `limit` is None where the ratio is only told."""

    name: str
    limit: float | None
    unit: str = "us"
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def add(self, ours: float, theirs: float) -> None:
        """One pair, measured one right after the other."""
        self.ours.append(ours)
        self.theirs.append(theirs)

    @property
    def ratios(self) -> list[float]:
        """The ratio of each pair, ascending."""
        return sorted(ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))

    @property
    def interval(self) -> tuple[float, float]:
        """A distribution-free interval of the median, at least 95 % where there are ten pairs."""
        count = len(self.ratios)
        beyond = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))
        return self.ratios[beyond], self.ratios[-1 - beyond]

    @property
    def holds(self) -> bool:
        """False only where even the better end of the interval is beyond the limit."""
        return self.limit is None or self.interval[0] <= self.limit

    def line(self) -> str:
        """As it is printed."""
        ours, theirs, ratio = (statistics.median(each) for each in (self.ours, self.theirs, self.ratios))
        low, high = self.interval
        limit = "told" if self.limit is None else f"limit {self.limit:g}: {'holds' if self.holds else 'MISSED'}"
        figures = f"{ours:10.3f} {theirs:10.3f} {self.unit}   {ratio:5.2f} [{low:.2f}, {high:.2f}]"
        return f"{self.name:44} {figures}   {limit}"


def told(comparisons: Iterable[Comparison]) -> int:
    """Prints all and answers the exit code."""
    every = list(comparisons)
    print(f"{'':44} {'ours':>10} {'theirs':>10}      ratio [interval], {PAIRS} interleaved pairs")
    for each in every:
        print(each.line(), flush=True)
    return 0 if all(each.holds for each in every) else 1


def bare(program: str, *words: object, library: str = "c") -> float:
    """Builds (once) and runs a bare C program of benches/bare; answers the number it prints."""
    folder = HERE.parent / "build/benches"
    folder.mkdir(parents=True, exist_ok=True)
    binary, source = folder / program, HERE / "bare" / f"{program}.c"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O3", "-o", str(binary), str(source), f"-l{library}"], check=True)
    said = subprocess.run([str(binary), *map(str, words)], capture_output=True, text=True, check=True, timeout=60)
    return float(said.stdout)


def cargo_built(name: str) -> str:
    """Builds a bare Rust program, benches/NAME; answers where Cargo has put it. zenoh takes minutes the first time."""
    manifest = HERE / name / "Cargo.toml"
    command = ["cargo", "build", "--release", "--message-format=json", "--manifest-path", str(manifest)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    made = (json.loads(line).get("executable") for line in said.splitlines())
    return str(next(path for path in made if path))


def hopmeter(scenario: str) -> list[dict[str, Any]]:
    """Measures a scenario, given as TOML, with the real command; answers a row a cell."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.toml"
        path.write_text(scenario)
        command = [sys.executable, "-m", "hopmeter", "run", str(path), "--json", "--out", f"{folder}/run"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if not rows or any(row["status"] == "failed" for row in rows):
        raise SystemExit(f"hopmeter measured nothing to compare:\n{done.stdout}{done.stderr}")
    return rows
