"""Start the real command with real nodes, and inspect what it leaves behind."""

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
    """Return the `hopmeter run` command of a small scenario; its results go to `folder / "run"`."""
    scenario = folder / "failing.toml"
    scenario.write_text(SCENARIO)
    return tests.command.command("run", scenario, "--out", folder / "run", "--no-report", *options)


def run(folder: Path, *options: str, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command until it exits; `before` is called in the child process."""
    return subprocess.run(
        command(folder, *options, "--json"), capture_output=True, text=True, timeout=120, check=False, preexec_fn=before
    )


def measuring(folder: Path, scenario: str, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """Run `hopmeter run` of a scenario in the background; its results go to `folder / "run"`."""
    (folder / "measured.toml").write_text(scenario)
    return running("run", folder / "measured.toml", "--out", folder / "run", "--no-report", "--json", *options)


def report(folder: Path) -> str:
    return write([folder / "run"], folder / "report.html").read_text()


def row(done: subprocess.CompletedProcess[str], transport: str) -> dict[str, Any]:
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return next(row for row in rows if row["transport"] == transport)


def nodes_of(launcher: psutil.Process, count: int, of: str = "") -> list[psutil.Process]:
    """Wait for `count` nodes of a running command, and return them; `of` restricts the nodes to one transport."""

    def nodes() -> list[psutil.Process]:
        found = [child for child in launcher.children(recursive=True) if _is_node(words_of(child), of)]
        return found if len(found) >= count else []

    return wait_for(nodes)


def _is_node(words: list[str], of: str) -> bool:
    return "--control-fd" in words and (not of or f"hopmeter-node-{of}" in words[0])


def spec_of(node: psutil.Process) -> dict[str, Any]:
    """Return the spec that a node received."""
    words = words_of(node)
    return dict(json.loads(Path(words[words.index("--spec") + 1]).read_text()))


def role_of(node: psutil.Process) -> str:
    """Return the role in a node's spec."""
    return str(spec_of(node)["endpoints"][0]["role"])


class Traces:
    """The possible leftovers of a trial: its run's folder, and files with the run id in /dev/shm or /tmp."""

    def __init__(self, nodes: list[psutil.Process]) -> None:
        spec = spec_of(nodes[0])
        self._run = str(spec["run"])
        self._ground = Path(spec["directory"]).parents[1]

    def paths(self) -> list[Path]:
        """Return the leftovers that exist."""
        named = [path for place in ("/dev/shm", "/tmp") for path in Path(place).glob(f"*{self._run}*")]
        return [*named, *([self._ground] if self._ground.exists() else [])]


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def wait_for_end(started: list[psutil.Process]) -> None:
    """Wait until all of these processes have exited."""
    wait_for(lambda: not any(words_of(each) for each in started))


def without_privileges() -> None:
    """Drop all capabilities of this child process, but keep its user."""
    for capability in range(64):
        # Drop the capabilities from the bounding set too, so that programs that root starts do not regain them.
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
