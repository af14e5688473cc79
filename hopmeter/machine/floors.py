"""Measure the floors, which are the cheapest hops on this machine, in the same way as a scenario."""

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
SCENARIO = Path(__file__).with_name("floors.toml")


def measure() -> dict[str, Any]:
    """Return {`cells`: the cells as `hopmeter run --json` prints them, `failed`: why there are none}."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ScratchDir() as ground:
        out = ground.directory / "floors"
        run = [sys.executable, "-m", "hopmeter", "run", str(SCENARIO), "--json", "--out", str(out)]
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
    """Return a finding for each floor."""
    if seen["failed"]:
        return [finding("F-FLOORS", "floors", "unknown", seen["failed"], BUILD)]
    return [_floor(cell) for cell in seen["cells"]]


def _floor(cell: dict[str, Any]) -> Finding:
    subject = f"{cell['transport']}, {cell['wait']}, {cell['cores']}"
    p50_us, p99_us = cell.get("service_p50_us"), cell.get("service_p99_us")
    if cell["status"] == "dropped" or p50_us is None:
        return finding(
            "F-FLOORS",
            subject,
            "unknown",
            split_code(cell.get("reason") or "too few messages")[0],
            BUILD,
        )
    tail = "too few messages for p99" if p99_us is None else f"p99 {p99_us:,.2f} us"
    return finding("F-FLOORS", subject, "good", f"one hop takes {p50_us:,.2f} us at p50, {tail}")
