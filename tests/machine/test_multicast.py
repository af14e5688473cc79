"""Tests for the multicast check, with network namespaces as different kinds of machines."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hopmeter.machine.advice import findings
from hopmeter.machine.description import describe
from hopmeter.machine.kernel import UNKNOWN
from hopmeter.machine.multicast import multicast

ASK = "from hopmeter.machine.multicast import multicast; print(multicast())"
ROUTE = "ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo;"
DEVICE = "ip link add other type bridge; ip addr add 192.0.2.7/24 dev other; ip link set other up;"
DEVICE += "ip link set other multicast on; ip route add default dev other;"


def _answer_in_isolation(commands: str) -> str:
    script = f'set -e; ip link set lo up; {commands} exec "$0" -c "$1"'
    shell = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", script, sys.executable, ASK]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        pytest.skip(f"no network can be made up here: {done.stderr.strip()}")
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("commands", "answer"),
    [("", "none"), (ROUTE, "lo"), (DEVICE, "other")],
    ids=["without a route", "with the remedy", "by another device"],
)
def test_multicast_is_told_as_it_is(commands: str, answer: str) -> None:
    assert _answer_in_isolation(commands) == answer


def test_this_machine_is_judged_by_what_was_tried() -> None:
    machine = describe()
    assert machine["multicast"] == multicast() != UNKNOWN
    assert "loopback multicast" in [one["subject"] for one in findings(machine)]
