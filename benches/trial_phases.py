"""Measures how long each phase of a trial takes, over all cells of a scenario: shows where the time of a round goes."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ending import orderly

from hopmeter.api.planning import prepare
from hopmeter.plan import Cell
from hopmeter.plan.expand import World
from hopmeter.runtime import running_trial
from hopmeter.runtime.control import Control
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import execute_trial
from hopmeter.runtime.work import Work, programs
from hopmeter.system.scratch_dir import ScratchDir
from hopmeter.system.terminal import Console

PHASES = ("bound", "ready", "proved", "done", "exited", "end")
"""Nodes started and opened; connected; links proved; messages and drain; nodes ended; files removed."""


@contextmanager
def marks() -> Iterator[dict[str, float]]:
    """Note when each phase of a trial ends, on the monotonic clock."""
    found: dict[str, float] = {}

    def noting(function: Any, name: str) -> Any:
        def call(*given: Any, **more: Any) -> None:
            function(*given, **more)
            found[name or str(given[1])] = time.monotonic()

        return call

    with (
        patch.object(Control, "expect", noting(Control.expect, "")),
        patch.object(Control, "wait_for_exits", noting(Control.wait_for_exits, "exited")),
        patch.object(running_trial, "prove", noting(running_trial.prove, "proved")),
    ):
        yield found


def measure(cell: Cell, world: World, folder: Path, alarm: Alarm, ground: ScratchDir) -> tuple[Counter[str], bool]:
    """Return the seconds of each phase of one trial, and whether the trial succeeded."""
    ready = programs(cell, world.ready)
    work = Work(cell, 0, 0, 0, world.manifests[cell.axes.transport], ready, logs=folder)
    before = time.monotonic()
    with marks() as ends:
        with execute_trial(work, ground, alarm) as outcome:
            good = outcome.result.good
        ends["end"] = time.monotonic()
    took: Counter[str] = Counter()
    for phase in filter(ends.__contains__, PHASES):
        took[phase], before = ends[phase] - before, ends[phase]
    return took, good


def _line(name: str, took: Counter[str]) -> str:
    return f"{name:42}" + "".join(f"{1000 * took[phase]:8.0f}" for phase in PHASES) + f"{1000 * took.total():9.0f}"


def main(words: Sequence[str] | None = None) -> int:
    """Measure every cell once; return 1 if a cell failed."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("scenario", nargs="?", default="quick")
    ask.add_argument("--language", default="one")
    asked, all_good, total = ask.parse_args(words), True, Counter[str]()
    given = {"language": [asked.language], "no_idle_states": False}
    prepared = prepare(asked.scenario, given, [], full=False, against=None, console=Console(stderr=True))
    print(f"{'ms':42}" + "".join(f"{phase:>8}" for phase in (*PHASES, " total")))
    with tempfile.TemporaryDirectory() as folder, Alarm() as alarm, ScratchDir() as ground:
        for cell in prepared.plan.runnable:
            took, good = measure(cell, prepared.world, Path(folder), alarm, ground)
            print(_line(f"{cell.axes.transport} ({cell.axes.language}), {cell.axes.payload}", took), flush=True)
            total, all_good = total + took, all_good and good
    print(_line("all", total))
    return 0 if all_good else 1


if __name__ == "__main__":
    raise SystemExit(orderly(main))
