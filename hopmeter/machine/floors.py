"""Measures the floors, which are the cheapest hops on this machine, by running a scenario."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hopmeter.machine.finding import Finding, finding
from hopmeter.messages import split_code
from hopmeter.system import subprocesses
from hopmeter.system.processes import die_with_launcher
from hopmeter.system.scratch_dir import ScratchDir

LONGEST_S = 120.0
BUILD = "hopmeter build memory shm --language rust"
SPIN_US = 5.0
"""The maximum time of a hop between two spinning endpoints.

Between idle cores, such a hop takes less than 1 us. A longer hop means that other programs use these cores.
"""
WAKE_US = 100.0
"""If the median of a hop is at least this long, it consists mainly of a core's wake-up latency."""
LATE_US = 1000.0
"""At 1000 Hz, a message that is delayed by this time also delays the next message."""
SCENARIO = Path(__file__).with_name("floors.toml")


def measure() -> dict[str, Any]:
    """Run the floors scenario. In the returned dictionary, `cells` contains the cells as `hopmeter run --json` prints
    them, and `failed` contains the reason if there are no cells."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ScratchDir() as ground:
        out = ground.directory / "floors"
        run = [sys.executable, "-m", "hopmeter", "run", str(SCENARIO), "--json", "--no-report", "--out", str(out)]
        try:
            done = subprocesses.run(run, timeout=LONGEST_S, preexec_fn=die_with_launcher, **pipes)
        except subprocess.TimeoutExpired:
            return {"cells": [], "failed": f"not finished after {LONGEST_S:.0f} s"}
    cells = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {"cells": cells, "failed": "" if cells else _last_line(done.stderr)}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "the run printed no output"


def judge(seen: dict[str, Any]) -> list[Finding]:
    """Return a finding for each floor, or one finding that explains why the floors could not be measured."""
    if seen["failed"]:
        return [finding("F-FLOORS", "floors", "unknown", seen["failed"], BUILD)]
    return [_floor(cell) for cell in seen["cells"]]


def _floor(cell: dict[str, Any]) -> Finding:
    subject = f"{cell['transport']} {cell['wait']} {cell['cores']}"
    p50_us, p90_us = cell.get("service_p50_us"), cell.get("service_p90_us")
    if cell["status"] == "dropped" or p50_us is None:
        reason = split_code(cell.get("reason") or "too few messages")[0]
        return finding("F-FLOORS", subject, "unknown", reason, BUILD)
    tail = "too few messages for p90" if p90_us is None else f"p90 {p90_us:,.2f} us"
    return _judge_hop(cell["wait"], subject, f"one hop takes {p50_us:,.2f} us at p50, {tail}", p50_us, p90_us or p50_us)


def _judge_hop(wait: str, subject: str, says: str, p50_us: float, p90_us: float) -> Finding:
    """Compare the hop's median with the usual time of a hop on idle cores, and the hop's p90 with the interval between
    messages."""
    if wait != "block" and p50_us >= SPIN_US:
        cause = f"{says}: on dedicated cores, a hop takes less than 1 us, so other programs are using these cores"
        return finding("F-FLOORS", subject, "hurts", cause, "stop other programs, or ask for dedicated cores")
    if p50_us >= WAKE_US:
        remedy = "see idle states and load above; `hopmeter run --no-idle-states` keeps cores awake"
        return finding("F-FLOORS", subject, "hurts", f"{says}: most of it is the wake-up of a core", remedy)
    if p90_us >= LATE_US:
        return finding("F-FLOORS", subject, "note", f"{says}: one message in ten is late", "measure more rounds")
    return finding("F-FLOORS", subject, "good", says)
