"""Two machines, as far as a network goes: namespaces that share but a cable, the second with a clock of its own.

They are made without any right, in a user namespace, and are gone when the processes that hold them are.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

AHEAD_S = 1000
"""How far the second machine's clock is ahead of the first one's."""
HOLD = ("sh", "-c", "echo ready; exec cat")


@dataclass(frozen=True)
class Machine:
    """One of them."""

    address: str
    before: tuple[str, ...]
    """What starts a command there."""


def _inside(pid: int) -> tuple[str, ...]:
    return ("nsenter", "--target", str(pid), "--user", "--net", "--preserve-credentials")


def why_not() -> str:
    """Why there can be none here; empty where there can."""
    for program in ("unshare", "nsenter", "ip"):
        if shutil.which(program) is None:
            return f"`{program}` is not installed (util-linux, iproute2)"
    tried = subprocess.run(
        ["unshare", "--map-root-user", "--net", "--time", "--fork", "true"], capture_output=True, text=True, check=False
    )
    return f"no right to make a namespace: {tried.stderr.strip()}" if tried.returncode else ""


@contextmanager
def _namespace(*command: str) -> Iterator[int]:
    """A process that keeps a namespace, by its number, until it is left."""
    process = subprocess.Popen([*command, *HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


@contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Both, joined by a cable; skips the test where the machine does not allow it."""
    if why := why_not():
        pytest.skip(why)
    with ExitStack() as closing:
        one = closing.enter_context(_namespace("unshare", "--map-root-user", "--net"))
        other = closing.enter_context(_namespace(*_inside(one), "unshare", "--net"))
        _run(one, "ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", str(other))
        addresses = "10.77.0.1", "10.77.0.2"
        for pid, address in zip((one, other), addresses, strict=True):
            _run(pid, "ip", "address", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _run(pid, "ip", "link", "set", device, "up")
            _run(pid, "ip", "route", "add", "224.0.0.0/4", "dev", "cable")
        ahead = ("unshare", "--time", "--monotonic", str(AHEAD_S))
        yield Machine(addresses[0], _inside(one)), Machine(addresses[1], (*_inside(other), *ahead))


def _run(pid: int, *command: str) -> None:
    subprocess.run([*_inside(pid), *command], check=True)
