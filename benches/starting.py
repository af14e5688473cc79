"""Measure the time from the start of a trial with 22 endpoints until its first message is due, over every built
transport."""

from __future__ import annotations

import argparse
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ending import orderly

from hopmeter import plan
from hopmeter.api.planning import local_capabilities
from hopmeter.plan import Cell
from hopmeter.plan.capabilities import Capabilities
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import execute_trial
from hopmeter.runtime.work import Work, programs
from hopmeter.scenario import Scenario
from hopmeter.system.scratch_dir import ScratchDir

LIMIT_S = 5.0
LAST = ("sink", "client")
RELAYS = 20
SCENARIO = """
title = "Starting"
question = "How long does it take until the first sample?"
language = "each"
cores = "free"
payload = "timing"
wait = ["callback", "block", "spin"]
warmup = 0
rate = 100
trials = 1
timeout = "60s"
"""


def cells(asked: argparse.Namespace, capabilities: Capabilities) -> Iterator[Cell]:
    """Yield the first cell of each transport, language and pattern."""
    table = tomllib.loads(SCENARIO) | {name: getattr(asked, name) for name in ("placement", "relays", "messages")}
    table |= {"transport": asked.transport.split(","), "pattern": asked.pattern.split(",")}
    seen = set()
    for cell in plan.make("starting", Scenario.model_validate(table), capabilities).runnable:
        which = cell.axes.transport, cell.axes.language, cell.axes.pattern
        is_asked = (
            asked.transport == "all" or cell.axes.transport in table["transport"]
        )  # the plan also contains floors, which are other transports
        if is_asked and which not in seen:
            seen.add(which)
            yield cell


def measure_start(
    cell: Cell, capabilities: Capabilities, folder: Path, alarm: Alarm, ground: ScratchDir
) -> tuple[float | None, str]:
    """Return the time in seconds from the trial's start, including the broker's start, until message 0 was due.

    The time is None if the trial failed. Also returns failures and losses as text.
    """
    ready = programs(cell, capabilities.ready)
    work = Work(cell, 0, 0, 0, capabilities.manifests[cell.axes.transport], ready, logs=folder)
    began_ns = time.monotonic_ns()
    with execute_trial(work, ground, alarm) as outcome:
        result = outcome.result
    if not result.good:
        return None, result.reason
    came = max(each["received"] for node in result.nodes for each in node["endpoints"] if each["role"] in LAST)
    return (
        result.start_ns - began_ns
    ) / 1e9, f"; {cell.schedule.messages - came} lost" if came < cell.schedule.messages else ""


def line(cell: Cell, seconds: float | None, faults: str) -> tuple[str, bool]:
    """Format a result, and return whether the time is within the limit.

    Separate processes have no limit, because they all start on the same cores.
    """
    name = f"{cell.axes.transport} ({cell.axes.language}), {cell.axes.pattern}, {cell.axes.wait}"
    if seconds is None:
        return f"{name:44}      -     FAILED: {faults}", False
    if cell.axes.placement == "process":
        return f"{name:44} {seconds:6.2f} s   reported{faults}", True
    holds = seconds <= LIMIT_S
    verdict = "holds" if holds else "MISSED"
    return f"{name:44} {seconds:6.2f} s   limit {LIMIT_S:g}: {verdict}{faults}", holds


def main(words: Sequence[str] | None = None) -> int:
    """Measure every cell once; return 1 if a cell failed or took too long."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--transport", default="all")
    ask.add_argument("--pattern", default="pubsub")
    ask.add_argument("--placement", default="thread")
    ask.add_argument("--relays", type=int, default=RELAYS)
    ask.add_argument("--messages", type=int, default=50)
    asked, capabilities, all_hold = ask.parse_args(words), local_capabilities(), True
    with tempfile.TemporaryDirectory() as folder, Alarm() as alarm, ScratchDir() as ground:
        for cell in cells(asked, capabilities):
            said, holds = line(cell, *measure_start(cell, capabilities, Path(folder), alarm, ground))
            print(said, flush=True)
            all_hold = all_hold and holds
    return 0 if all_hold else 1


if __name__ == "__main__":
    raise SystemExit(orderly(main))
