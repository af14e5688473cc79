"""Execute a trial, or the two trials of a duet: start new nodes, measure, and end the nodes in any case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hopmeter.model.trial import TrialResult
from hopmeter.plan.spec import Turns
from hopmeter.runtime.background import BackgroundLoad
from hopmeter.runtime.cpu import stolen_us
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.launcher_affinity import aside
from hopmeter.runtime.running_trial import LEAD_NS, RunningTrial
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.work import Work, cores_of_nodes
from hopmeter.system.scratch_dir import ScratchDir

Step = Callable[[RunningTrial], None]


@dataclass
class Outcome:
    """The result of a trial, and its raw samples as long as its folder exists."""

    result: TrialResult
    raw_files: list[Path]


@contextmanager
def execute_trial(work: Work, ground: ScratchDir, alarm: Alarm, turns: Turns | None = None) -> Iterator[Outcome]:
    """Execute a trial; its raw samples exist inside the `with` block. Raises only if the whole run must end.

    With `turns`, messages are due only in the turns of its side, although no other side runs.
    """
    with _execute([RunningTrial(work, ground.trial(), turns)], ground, alarm) as outcomes:
        yield outcomes[0]


@contextmanager
def execute_duet(works: Sequence[Work], turn_s: float, ground: ScratchDir, alarm: Alarm) -> Iterator[list[Outcome]]:
    """Execute the trials of several sides whose nodes run at once and whose messages take turns of `turn_s`.

    Each side has an outcome of its own: if one fails, the others go on. Otherwise as `execute_trial`.
    """
    turns = [Turns(turn_s, len(works), side) for side in range(len(works))]
    trials = [RunningTrial(work, ground.trial(), own) for work, own in zip(works, turns, strict=True)]
    with _execute(trials, ground, alarm) as outcomes:
        yield outcomes


@contextmanager
def _execute(trials: Sequence[RunningTrial], ground: ScratchDir, alarm: Alarm) -> Iterator[list[Outcome]]:
    _note_what_is_alive(trials, ground)
    began, stolen = time.monotonic(), stolen_us()
    try:
        _run(trials, ground, alarm)
        for trial in trials:
            trial.result.wall_s = (time.monotonic() - began) / len(trials)
            trial.result.steal_us = (stolen_us() - stolen) / len(trials)
        yield [Outcome(trial.result, trial.raw_files) for trial in trials]
    finally:
        for trial in trials:
            trial.remove_files()
        ground.keep((), ())


def _run(trials: Sequence[RunningTrial], ground: ScratchDir, alarm: Alarm) -> None:
    with ExitStack() as ends:
        for trial in trials:
            ends.callback(trial.close)
        left = _start_background(trials, ends, ground)
        for start in (RunningTrial.start_broker, RunningTrial.start_nodes):
            left = _take_step(left, start)
            _note_what_is_alive(trials, ground)
        left = _take_step(left, RunningTrial.watch)
        with aside(core for trial in trials for core in cores_of_nodes(trial.work)):
            left = _take_step(left, lambda trial: trial.connect(alarm))
            start_ns = time.monotonic_ns() + LEAD_NS
            for step in (lambda trial: trial.go(start_ns), RunningTrial.measure, RunningTrial.end):
                left = _take_step(left, step)


def _start_background(trials: Sequence[RunningTrial], ends: ExitStack, ground: ScratchDir) -> Sequence[RunningTrial]:
    """Start the load beside the nodes of all trials, if there is one; return the trials that have not failed."""
    work = trials[0].work
    if work.load is None:
        return trials
    try:
        background = BackgroundLoad(work.load, work.logs / f"{work.name}-background.log")
    except TrialFailedError as failed:
        for trial in trials:
            trial.fail(failed)
        return []
    ends.callback(background.close)
    for trial in trials:
        trial.background = background
    _note_what_is_alive(trials, ground)
    return trials


def _take_step(trials: Sequence[RunningTrial], step: Step) -> list[RunningTrial]:
    """Take one step of each trial, and return the trials that have not failed."""
    left = []
    for trial in trials:
        try:
            step(trial)
            left.append(trial)
        except TrialFailedError as failed:
            trial.fail(failed)
    return left


def _note_what_is_alive(trials: Sequence[RunningTrial], ground: ScratchDir) -> None:
    """Note what the next command must remove if this process is killed."""
    background = [trial.background.pid for trial in trials[:1] if trial.background]
    pids = [*background, *(pid for trial in trials for pid in trial.pids)]
    ground.keep(pids, [path for trial in trials for path in trial.leftovers])
