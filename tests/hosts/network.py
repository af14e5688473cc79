"""Two or three test hosts with a wire between them.

    with two_hosts() as (a, b):                         # joined by a pair of virtual Ethernet devices
        a.run(["hopmeter", "doctor"])
    with two_hosts(wire=Wire(there=Way(delay_s=0.01), back=Way(loss=0.1))) as (a, b):
        with b.popen([...]) as server:
            ...
            a.cut(b)
            a.restore(b)

A host has an address (10.77.0.1, 10.77.0.2, …), a host name, and its own loopback device. All hosts share this
machine's file system. If namespaces are forbidden, the test is skipped with the reason.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.keeper import address
from tests.hosts.tap_wire import Way, plan

ROOT = Path(__file__).parents[2]
PROGRAMS = {"ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}


CLEAR = Way()


@dataclass(frozen=True)
class Wire:
    """Forwards frames according to a plan: `there` applies from the first host to the others, `back` in the opposite
    direction.

    Frames between the second and third host use the default treatment until the treatment is changed.
    """

    there: Way = CLEAR
    back: Way = CLEAR
    seed: int = 1

    def plan(self, count: int) -> dict[str, Any]:
        """Return the plan for the given number of hosts, for the process that holds them."""
        ways = {(0, other): self.there for other in range(1, count)}
        return plan(self.seed, {**ways, **{(other, 0): self.back for other in range(1, count)}})


class Network:
    """The process that holds the hosts, and its plan of the wire."""

    def __init__(self, process: subprocess.Popen[str], wire: Wire | None, count: int) -> None:
        self._process, self._wire = process, wire
        self.namespaces: list[tuple[int, int]] = []
        known = wire.plan(count)["ways"] if wire else []
        self._ways = {(sender, receiver): Way(**way) for sender, receiver, way in known}

    @property
    def pid(self) -> int:
        """The process that keeps the namespaces open."""
        return self._process.pid

    def tell(self, message: object) -> Any:
        """Write a line and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that keeps the test hosts has ended"
        return json.loads(answer)

    def way(self, sender: int, receiver: int) -> Way:
        return self._ways.get((sender, receiver), CLEAR)

    def change(self, sender: int, receiver: int, way: Way) -> None:
        assert self._wire is not None, "only a Wire can be changed; virtual Ethernet devices have no plan"
        self._ways[sender, receiver] = way
        self.tell([sender, receiver, asdict(way)])


@dataclass(frozen=True)
class Host:
    """A network namespace with its own address and host name."""

    number: int
    name: str
    network: Network
    ahead_s: int = 0
    """How far the host's monotonic clock is ahead of this machine's."""

    @property
    def address(self) -> str:
        """The address at which the other hosts reach this host."""
        return address(self.number)

    @property
    def before(self) -> tuple[str, ...]:
        """Return the command prefix that runs a command on this host. The prefix program executes the command in its
        own process, so the process id stays the same."""
        network, uts = self.network.namespaces[self.number]
        keeper = f"/proc/{self.network.pid}"
        user = () if os.geteuid() == 0 else (f"--user={keeper}/ns/user", "--preserve-credentials")
        enter = ("nsenter", *user, f"--net={keeper}/fd/{network}", f"--uts={keeper}/fd/{uts}")
        ahead = ("--monotonic", str(self.ahead_s), "--boottime", str(self.ahead_s))
        return (*enter, *(("unshare", "--time", *ahead) if self.ahead_s else ()))

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command on this host and return its output; the options are those of `subprocess.run`."""
        defaults = {"check": True, "capture_output": True, "text": True, "timeout": 120}
        return subprocess.run([*self.before, *command], **{**defaults, **options})

    @contextmanager
    def popen(self, command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
        """Start a command on this host and kill it at the end; the options are those of `subprocess.Popen`."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen([*self.before, *command], **{**pipes, **options}) as process:
            try:
                yield process
            finally:
                process.kill()

    def send_by(self, way: Way, to: Host) -> None:
        """Change the treatment of later frames from this host to another; needs a Wire."""
        self.network.change(self.number, to.number, way)

    def cut(self, other: Host) -> None:
        """Silently drop all frames between this host and another until `restore`; needs a Wire."""
        self._set_cut(other, cut=True)

    def restore(self, other: Host) -> None:
        """Restore the connection after `cut`."""
        self._set_cut(other, cut=False)

    def _set_cut(self, other: Host, *, cut: bool) -> None:
        for ends in ((self.number, other.number), (other.number, self.number)):
            self.network.change(*ends, replace(self.network.way(*ends), cut=cut))


@contextmanager
def hosts(count: int, wire: Wire | None = None, ahead_s: int = 0) -> Iterator[tuple[Host, ...]]:
    """Create hosts that share only a wire, by default veth devices.

    `ahead_s` sets the clock of the last host ahead. All processes on the hosts are killed when the block ends, or if
    this process is killed.
    """
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            pytest.skip(f"test hosts need `{program}` ({package})")
    names = ["alpha", "beta", "gamma"][:count]
    command = [sys.executable, "-m", "tests.hosts.keeper"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        network = Network(process, wire, count)
        answer = network.tell({"names": names, "wire": wire.plan(count) if wire else None})
        if "why" in answer:
            pytest.skip(f"no test hosts: this machine forbids namespaces or network devices: {answer['why']}")
        network.namespaces = answer["hosts"]
        ahead = [0] * (count - 1) + [ahead_s]
        yield tuple(Host(number, name, network, ahead[number]) for number, name in enumerate(names))


@contextmanager
def two_hosts(wire: Wire | None = None, ahead_s: int = 0) -> Iterator[tuple[Host, Host]]:
    with hosts(2, wire, ahead_s) as (first, second):
        yield first, second


@contextmanager
def three_hosts(wire: Wire | None = None, ahead_s: int = 0) -> Iterator[tuple[Host, Host, Host]]:
    with hosts(3, wire, ahead_s) as (first, second, third):
        yield first, second, third
