"""Measure how much CPU time the coordinator uses for each host of a run.

Usage: `agents.py [--hosts 1,2,8,32] [--delay-ms 0] [--trials 3]`. `--delay-ms` delays each line between coordinator and
agent, in both directions. The hosts are agents on this machine with separate clocks, so they compete with the
coordinator for its cores.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ending import orderly

from hopmeter import plan
from hopmeter.api.planning import local_capabilities
from hopmeter.hosts.coordinator.session import HostSession, open_hosts
from hopmeter.runtime.running_trial import RunningTrial
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import execute_trial
from hopmeter.runtime.work import Work, programs
from hopmeter.scenario import Scenario
from hopmeter.system.scratch_dir import ScratchDir

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 2.0
"""The limit on the CPU time per host with all hosts, relative to the CPU time per host with a quarter of the hosts."""
STEPS = ("start_nodes", "watch", "connect", "go", "_await_end", "measure", "end", "collect", "close", "remove_files")
ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "connect": (("connect",), ()),
    "describe": (("describe",), ()),
    "examine": (("examine",), ()),
    "compare clocks": (("comparison",), ()),
    "start": (("trial start_nodes", "trial watch"), ()),
    "prove links": (("trial connect",), ()),
    "go": (("trial go",), ()),
    "usage": (("trial measure",), ("trial _await_end",)),
    "end": (("trial end", "trial close"), ()),
    "collect": (("trial collect",), ()),
    "remove files": (("trial remove_files",), ()),
    "disconnect": (("disconnect",), ()),
}
"""For each row of the output: the steps whose times are added, and the waiting steps whose times are subtracted."""
SCENARIO = """
title = "Agents"
question = "What does a host cost the coordinator?"
transport = "tcp"
language = "rust"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
timeout = "60s"
"""


@dataclass
class Times:
    """The wall time and the CPU time of this process for each step, in seconds."""

    wall_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        wall, cpu = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self.wall_s[step].append(time.monotonic() - wall)
            self.cpu_s[step].append(time.process_time() - cpu)

    def median(self, kind: str, step: str) -> float:
        """Return the median time of a step over all trials; `kind` is `wall` or `cpu`."""
        found = sorted((self.wall_s if kind == "wall" else self.cpu_s)[step])
        return found[len(found) // 2]


@contextmanager
def timed_steps(times: Times) -> Iterator[None]:
    """Measure the wall time and the CPU time of each step of the trials that run in the `with` block."""
    before = {name: getattr(RunningTrial, name) for name in STEPS}

    def wrap(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            with times.measure(f"trial {name}"):
                return method(*given, **more)

        return call

    for name, method in before.items():
        setattr(RunningTrial, name, wrap(name, method))
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(RunningTrial, name, method)


def agent(number: int, delay_s: float) -> list[str]:
    """Return the command that starts an agent, with a separate clock offset if this machine supports time
    namespaces."""
    ahead = (
        "unshare",
        *(() if os.geteuid() == 0 else ("--map-root-user",)),
        "--time",
        "--monotonic",
        str(1000 + number),
    )
    allowed = subprocess.run([*ahead, "true"], capture_output=True, check=False).returncode == 0
    slow = [sys.executable, str(ROOT / "tests/hosts/slow_line.py"), str(delay_s)] if delay_s else []
    return [*slow, *(ahead if allowed else ()), sys.executable, "-m", "hopmeter", "agent", "--stdio"]


def write_hosts(path: Path, hosts: int, delay_s: float) -> None:
    """Write a hosts file with this machine and the given number of agents."""
    lines = ["[host.h0]\nhere = true\n"]
    lines += [f"[host.h{number}]\nagent = {json.dumps(agent(number, delay_s))}\n" for number in range(1, hosts + 1)]
    path.write_text("".join(lines))


def scenario(hosts: int) -> Scenario:
    """Return a workload that sends one flow from this machine to each host."""
    table = tomllib.loads(SCENARIO)
    names = [f"p{number}" for number in range(hosts + 1)]
    table["participant"] = {name: {"host": name.replace("p", "h")} for name in names}
    table["flow"] = {f"f{name}": {"from": "p0", "to": name, "rate": 100, "payload": "bytes:100"} for name in names[1:]}
    return Scenario.model_validate(table)


def measure(hosts: int, delay_s: float, trials: int, folder: Path) -> tuple[Times, int, float]:
    """Run trials with the given number of agents. Return the step times, the number of open files and the peak memory
    in MB."""
    times = Times()
    write_hosts(folder / "hosts.toml", hosts, delay_s)
    opening = open_hosts(folder / "hosts.toml")
    with times.measure("connect"):
        session = opening.__enter__()
    try:
        with Alarm() as alarm, ScratchDir() as ground, timed_steps(times):
            _run(session, scenario(hosts), times, trials, folder, alarm, ground)
        files = len([*Path("/proc/self/fd").iterdir()])
    finally:
        with times.measure("disconnect"):
            opening.__exit__(None, None, None)
    return times, files, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _run(
    session: HostSession, asked: Scenario, times: Times, trials: int, folder: Path, alarm: Alarm, ground: ScratchDir
) -> None:
    with times.measure("describe"):
        capabilities = local_capabilities(session)
    with times.measure("examine"):
        session.describe()
    cell = next(each for each in plan.make("agents", asked, capabilities).runnable if each.is_whole_workload)
    ready = programs(cell, capabilities.ready)
    with session.compare_clocks(folder) as clocks:
        for trial in range(trials):
            work = Work(
                cell, trial, trial, trial, capabilities.manifests["tcp"], ready, logs=folder, hosts=session.remote
            )
            with execute_trial(work, ground, alarm) as outcome:
                with times.measure("comparison"):
                    clocks.compare()
                if not outcome.result.good:
                    print(f"a trial does not count: {outcome.result.reason}")


def report(hosts: int, times: Times, files: int, memory_mb: float) -> dict[str, float]:
    """Print the time of each step, and return this process's CPU time per host for each step, in ms."""
    print(f"\n{hosts} hosts: {files} open files, {memory_mb:.0f} MB at most")
    print(f"    {'step':18} {'all hosts':>10} {'each host':>10} {'coordinator':>12}")
    used = {}
    for step, (added, subtracted) in ROWS.items():
        wall_s, cpu_s = (
            sum(times.median(kind, each) for each in added) - sum(times.median(kind, each) for each in subtracted)
            for kind in ("wall", "cpu")
        )
        used[step] = cpu_s / hosts * 1e3
        print(
            f"    {step:18} {wall_s * 1e3:7.0f} ms {wall_s / hosts * 1e3:7.1f} ms {used[step]:6.2f} ms CPU", flush=True
        )
    return used


def judge(found: dict[int, dict[str, float]]) -> bool:
    """Print and return whether the CPU time per host stays within LIMIT as the number of hosts grows."""
    most = max(found)
    fewer = max((each for each in found if each <= most // 4), default=None)
    if fewer is None or most < 8:
        return True
    more = sum(found[most].values()) / sum(found[fewer].values())
    holds = more <= LIMIT
    verdict = "holds" if holds else "MISSED"
    print(f"\none of {most} hosts costs {more:.2f} times as much CPU as one of {fewer}   limit {LIMIT:g}: {verdict}")
    return holds


def main(words: Sequence[str] | None = None) -> int:
    """Return 1 if the CPU time per host grows too much with the number of hosts."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--hosts", default="1,2,8,32")
    ask.add_argument("--delay-ms", type=float, default=0.0)
    ask.add_argument("--trials", type=int, default=3)
    asked = ask.parse_args(words)
    found = {}
    for hosts in map(int, asked.hosts.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            found[hosts] = report(hosts, *measure(hosts, asked.delay_ms / 1000, asked.trials, Path(folder)))
    return 0 if judge(found) else 1


if __name__ == "__main__":
    raise SystemExit(orderly(main))
