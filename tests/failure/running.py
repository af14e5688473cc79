"""Starting the real command over real nodes, and looking at what it leaves."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil

import tests.command
from hopmeter.report import write
from tests.command import running
from tests.waiting import wait_for

PR_CAPBSET_DROP = 24
_libc = ctypes.CDLL(None, use_errno=True)

SCENARIO = """
title = "Failing"
question = "What is told when something breaks?"
transport = "unix"
language = "rust"
placement = "process"
wait = "block"
cores = "free"
payload = "bytes:100"
rate = 100
messages = 50
trials = 1
"""


def command(folder: Path, *options: str) -> list[str]:
    """`hopmeter run` of a small scenario; its results go to `folder / "run"`."""
    scenario = folder / "failing.toml"
    scenario.write_text(SCENARIO)
    return tests.command.command("run", scenario, "--out", folder / "run", "--no-report", *options)


def run(folder: Path, *options: str, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs to the end; `before` is called in the child."""
    return subprocess.run(
        command(folder, *options, "--json"), capture_output=True, text=True, timeout=120, check=False, preexec_fn=before
    )


def measuring(folder: Path, scenario: str, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """`hopmeter run` of a scenario while it runs; its results go to `folder / "run"`."""
    (folder / "measured.toml").write_text(scenario)
    return running("run", folder / "measured.toml", "--out", folder / "run", "--no-report", "--json", *options)


def report(folder: Path) -> str:
    """The report of the run in `folder / "run"`."""
    return write([folder / "run"], folder / "report.html").read_text()


def row(done: subprocess.CompletedProcess[str], transport: str) -> dict[str, Any]:
    """The first cell of a transport."""
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return next(row for row in rows if row["transport"] == transport)


def nodes_of(launcher: psutil.Process, count: int, of: str = "") -> list[psutil.Process]:
    """The nodes of a running command, once there are `count`; those of one transport where `of` names it."""

    def nodes() -> list[psutil.Process]:
        found = [child for child in launcher.children(recursive=True) if _is_node(words_of(child), of)]
        return found if len(found) >= count else []

    return wait_for(nodes)


def _is_node(words: list[str], of: str) -> bool:
    return "--control-fd" in words and (not of or f"hopmeter-node-{of}" in words[0])


def spec_of(node: psutil.Process) -> dict[str, Any]:
    """What a node was told."""
    words = words_of(node)
    return dict(json.loads(Path(words[words.index("--spec") + 1]).read_text()))


def role_of(node: psutil.Process) -> str:
    """The role that a node's spec gives it."""
    return str(spec_of(node)["endpoints"][0]["role"])


class Traces:
    """What a trial may leave: the folder of its run, and whatever carries its run id in shared memory or /tmp."""

    def __init__(self, nodes: list[psutil.Process]) -> None:
        spec = spec_of(nodes[0])
        self._run = str(spec["run"])
        self._ground = Path(spec["directory"]).parents[1]

    def paths(self) -> list[Path]:
        """What is there of it."""
        named = [path for place in ("/dev/shm", "/tmp") for path in Path(place).glob(f"*{self._run}*")]
        return [*named, *([self._ground] if self._ground.exists() else [])]


def words_of(process: psutil.Process) -> list[str]:
    """The command line of a process; empty if it has ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def wait_for_end(started: list[psutil.Process]) -> None:
    """Wait until all of these processes have ended."""
    wait_for(lambda: not any(words_of(each) for each in started))


def without_privileges() -> None:
    """Gives up every capability of this child: it stays the same user but may no more than others may."""
    for capability in range(64):
        # From the bounding set: programs that root starts afterwards are without it too.
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
