"""Executes a trial, or the two trials of a duet: starts new nodes, measures, and always ends the nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hopmeter.model.trial import TrialResult
from hopmeter.plan.spec import Turns
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.launcher_affinity import aside
from hopmeter.runtime.processes.cpu import stolen_us
from hopmeter.runtime.processes.host import Host
from hopmeter.runtime.processes.this_host import ThisHost
from hopmeter.runtime.running_trial import RunningTrial
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.work import Work, cores_of_nodes
from hopmeter.system.scratch_dir import ScratchDir

Step = Callable[[RunningTrial], None]
TELLING_NS = 2_000_000
"""The maximum time, in nanoseconds, for sending `go` to one host."""


@dataclass
class Outcome:
    """The result of a trial, and the trial's raw samples. The samples are deleted together with the trial's
    directory."""

    result: TrialResult
    raw_files: list[Path]


@contextmanager
def execute_trial(work: Work, ground: ScratchDir, alarm: Alarm, turns: Turns | None = None) -> Iterator[Outcome]:
    """Execute a trial. The trial's raw samples exist only inside the `with` block. Errors that affect only this trial
    are stored in its result; other errors are raised.

    If `turns` is given, messages are due only in one side's turns, as in a duet, but the other side does not run.
    """
    with _execute([work], [turns], ground, alarm) as outcomes:
        yield outcomes[0]


@contextmanager
def execute_duet(works: Sequence[Work], turn_s: float, ground: ScratchDir, alarm: Alarm) -> Iterator[list[Outcome]]:
    """Execute the trials of several sides at the same time. The sides alternate every `turn_s` seconds: the messages of
    a side are due only in the side's own turns.

    Each side gets an outcome of its own. If one side fails, the other sides continue. The raw samples exist only inside
    the `with` block, and only errors that must end the whole run are raised.
    """
    turns = [Turns(turn_s, len(works), side) for side in range(len(works))]
    with _execute(works, turns, ground, alarm) as outcomes:
        yield outcomes


@contextmanager
def _execute(
    works: Sequence[Work], turns: Sequence[Turns | None], ground: ScratchDir, alarm: Alarm
) -> Iterator[list[Outcome]]:
    here = ThisHost(ground)
    hosts: dict[str, Host] = {name: work.hosts.get(name, here) for work in works for name in work.host_names}
    trials = [RunningTrial(work, hosts, own) for work, own in zip(works, turns, strict=True)]
    here.note_alive()
    began, stolen = time.monotonic(), stolen_us()
    try:
        _run(trials, list(hosts.values()), alarm)
        for trial in trials:
            trial.result.wall_s = (time.monotonic() - began) / len(trials)
            trial.result.steal_us = (stolen_us() - stolen) / len(trials)
        yield [Outcome(trial.result, trial.collect()) for trial in trials]
    finally:
        for trial in trials:
            trial.remove_files()
        here.forget()


def _run(trials: Sequence[RunningTrial], hosts: Sequence[Host], alarm: Alarm) -> None:
    with ExitStack() as ends:
        for trial in trials:
            ends.callback(trial.close)
        left = _start_background(trials, ends, hosts)
        for start in (RunningTrial.start_broker, RunningTrial.start_nodes):
            left = _take_step(left, start)
            _note_alive(hosts)
        left = _take_step(left, RunningTrial.watch)
        with aside(core for trial in trials for core in cores_of_nodes(trial.work)):
            left = _take_step(left, lambda trial: trial.connect(alarm))
            start_ns = time.monotonic_ns() + lead_ns(hosts)
            for step in (lambda trial: trial.go(start_ns), RunningTrial.measure, RunningTrial.end):
                left = _take_step(left, step)


def lead_ns(hosts: Sequence[Host]) -> int:
    """Return how many nanoseconds before the start of the schedule the launcher sends `go`. The time grows with each
    additional host, because the hosts receive `go` one after another."""
    return max(host.lead_ns for host in hosts) + TELLING_NS * (len(hosts) - 1)


def _start_background(trials: Sequence[RunningTrial], ends: ExitStack, hosts: Sequence[Host]) -> Sequence[RunningTrial]:
    """Start the background load on the hosts of the trials, if the scenario has one. Return the trials that have not
    failed."""
    work = trials[0].work
    if work.load is None:
        return trials
    try:
        for host in hosts:
            background = host.start_background(work.load, work.logs / f"{work.name}-background.log")
            ends.callback(background.close)
            for trial in trials:
                trial.backgrounds.append(background)
        for background in trials[0].backgrounds:
            background.await_start()
    except TrialFailedError as failed:
        for trial in trials:
            trial.fail(failed)
        return []
    _note_alive(hosts)
    return trials


def _note_alive(hosts: Sequence[Host]) -> None:
    for host in hosts:
        host.note_alive()


def _take_step(trials: Sequence[RunningTrial], step: Step) -> list[RunningTrial]:
    """Execute one step of each trial, and return the trials that have not failed."""
    left = []
    for trial in trials:
        try:
            step(trial)
            left.append(trial)
        except TrialFailedError as failed:
            trial.fail(failed)
    return left
