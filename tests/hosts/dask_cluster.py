"""Start a Dask scheduler and workers as processes of this machine or of test hosts."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.command import environment_in
from tests.waiting import wait_for

pytest.importorskip("distributed", reason="setup/environment.sh dev,docs installs it")

PATIENCE_S = 20


@dataclass
class Cluster:
    """A running scheduler and its workers."""

    folder: Path
    address: str
    ends: ExitStack
    security: tuple[str, ...] = ()
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def add(self, name: str, *words: str, before: Sequence[str] = ()) -> None:
        """Start a worker, and wait until the scheduler knows it."""
        words = ("worker", self.address, "--name", name, "--no-nanny", "--nthreads", "1", "--no-dashboard", *words)
        self.workers[name] = self.ends.enter_context(start(self.folder, name, [*words, *self.security], before))
        wait_for(lambda: "Registered to" in (self.folder / f"{name}.log").read_text())


@contextmanager
def start(folder: Path, name: str, words: Sequence[str], before: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    environment = environment_in(folder)
    environment["DASK_TEMPORARY_DIRECTORY"] = str(folder / "dask")
    command = [*before, sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def cluster(
    folder: Path, host: str = "127.0.0.1", before: Sequence[str] = (), security: tuple[str, ...] = ()
) -> Iterator[Cluster]:
    """Start a scheduler without workers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["scheduler", "--host", host, "--port", str(port), "--no-dashboard", *security]
    scheme = "tls" if security else "tcp"
    with ExitStack() as ends:
        ends.enter_context(start(folder, "scheduler", words, before))
        wait_for(lambda: "Scheduler at" in (folder / "scheduler.log").read_text())
        yield Cluster(folder, f"{scheme}://{host}:{port}", ends, security)
