"""Tests for the test hosts and wires: the times and numbers of datagrams match the plan."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.hosts.datagrams import END
from tests.hosts.network import ROOT, Host, Wire, hosts, three_hosts, two_hosts
from tests.hosts.tap_wire import Direction, Way

DATAGRAMS = (sys.executable, "-m", "tests.hosts.datagrams")
MS = 10**6


class Line:
    """Datagrams that one host sends to another."""

    def __init__(self, sender: subprocess.Popen[str], receiver: subprocess.Popen[str]) -> None:
        self._sender, self._receiver = sender, receiver

    def send(self, *numbers: int) -> None:
        for number in numbers:
            assert self._sender.stdin is not None
            assert self._sender.stdout is not None
            self._sender.stdin.write(f"{number}\n")
            self._sender.stdin.flush()
            assert self._sender.stdout.readline() == "sent\n"

    def next(self) -> tuple[int, int, int]:
        assert self._receiver.stdout is not None
        number, sent, arrived = map(int, self._receiver.stdout.readline().split())
        return number, sent, arrived

    def all(self) -> list[int]:
        return list(iter(lambda: self.next()[0], END))


@contextmanager
def line(sender: Host, receiver: Host) -> Iterator[Line]:
    with (
        receiver.popen([*DATAGRAMS, "receive", receiver.address], cwd=ROOT) as there,
        sender.popen([*DATAGRAMS, "send", receiver.address], cwd=ROOT) as here,
    ):
        assert there.stdout is not None
        assert there.stdout.readline() == "ready\n"
        yield Line(here, there)


def least_delay_ns(sender: Host, receiver: Host, sought_ns: int = 0) -> int:
    """Return the smallest delay of up to 200 datagrams, sent one at a time, because a busy machine can only add delay.

    Measuring stops early at a delay that exceeds the expected delay by at most 5 ms.
    """
    least = sys.maxsize
    with line(sender, receiver) as datagrams:
        for number in range(200):
            datagrams.send(number)
            _, sent, arrived = datagrams.next()
            least = min(least, arrived - sent)
            if least < sought_ns + 5 * MS:
                break
    return least


def delays_by_plan(seed: int, way: Way, count: int) -> list[tuple[float, ...]]:
    """Return the planned delays of each copy of each frame from the first to the second host."""
    direction = Direction(seed, 0, 1, way)
    return [direction.next_delays() for _ in range(count)]


def test_each_direction_has_the_delay_that_was_planned() -> None:
    with two_hosts(Wire(there=Way(delay_s=0.04), back=Way(delay_s=0.01))) as (a, b):
        assert 40 * MS <= least_delay_ns(a, b, 40 * MS) < 50 * MS
        assert 10 * MS <= least_delay_ns(b, a, 10 * MS) < 20 * MS
        b.send_by(Way(delay_s=0.06), a)
        assert 60 * MS <= least_delay_ns(b, a, 60 * MS) < 70 * MS


def test_exactly_the_planned_frames_are_lost_doubled_and_overtaken() -> None:
    way = Way(loss=0.2, duplication=0.1, reordering=0.1, late_s=0.1)
    fates = delays_by_plan(7, way, 200)
    assert {len(fate) for fate in fates} == {0, 1, 2}
    with two_hosts(Wire(there=way, seed=7)) as (a, b), line(a, b) as datagrams:
        datagrams.send(*range(200))
        a.send_by(Way(delay_s=0.2), b)  # so that END arrives after all delayed frames
        datagrams.send(END)
        arrived = datagrams.all()
    assert sorted(arrived) == [number for number, fate in enumerate(fates) for _ in fate]
    overtaken = [number for number, after in itertools.pairwise(arrived) if after < number]
    assert overtaken, "nothing came out of order"
    in_time = [number for number in arrived if fates[number][0] == 0.0]
    assert in_time == sorted(in_time)


def test_the_plan_of_a_direction_is_its_own_and_changes_leave_later_frames_alone() -> None:
    way = Way(loss=0.5)
    assert delays_by_plan(1, way, 50) == delays_by_plan(1, way, 50)
    assert delays_by_plan(1, way, 50) != delays_by_plan(2, way, 50)
    back = Direction(1, 1, 0, way)
    assert delays_by_plan(1, way, 50) != [back.next_delays() for _ in range(50)]
    changed = Direction(1, 0, 1, Way(cut=True))
    assert [changed.next_delays() for _ in range(10)] == [()] * 10
    changed.way = way
    assert [changed.next_delays() for _ in range(40)] == delays_by_plan(1, way, 50)[10:]


def test_a_cut_wire_carries_nothing_until_it_is_restored() -> None:
    with two_hosts(Wire()) as (a, b), line(a, b) as there, line(b, a) as back:
        for datagrams in (there, back):
            datagrams.send(1)
            assert datagrams.next()[0] == 1
        a.cut(b)
        there.send(2)
        back.send(2)
        b.restore(a)
        for datagrams in (there, back):
            datagrams.send(3)
            assert datagrams.next()[0] == 3


@pytest.mark.parametrize("wire", [None, Wire()], ids=["veth", "tap"])
def test_three_hosts_reach_each_other_under_their_own_names(wire: Wire | None) -> None:
    with three_hosts(wire) as each:
        assert [host.run(["uname", "-n"]).stdout.strip() for host in each] == ["alpha", "beta", "gamma"]
        for sender, receiver in ((0, 1), (1, 2), (2, 0)):
            assert least_delay_ns(each[sender], each[receiver]) > 0


def test_a_clock_is_ahead_as_planned() -> None:
    with two_hosts(ahead_s=1000) as (a, b):
        command = [sys.executable, "-c", "import time; print(time.monotonic_ns())"]
        behind, ahead, after = (int(host.run(command).stdout) for host in (a, b, a))
        assert behind + 1000 * 10**9 < ahead < after + 1000 * 10**9


RECEIVE_STREAM = """
import socket, sys
with socket.create_server(("0.0.0.0", 7001)) as own:
    print(flush=True)
    sys.stdout.buffer.write(own.accept()[0].makefile("rb").read())
"""
SEND_STREAM = """
import socket, sys
socket.create_connection((sys.argv[2], 7001)).sendall(open(sys.argv[1], "rb").read())
"""


def test_large_segments_come_whole(tmp_path: Path) -> None:
    """TCP passes large segments to the device, which the TAP device must receive split into frames."""
    sent = bytes(range(256)) * 40_000
    (tmp_path / "sent").write_bytes(sent)
    with (
        two_hosts(Wire(there=Way(loss=0.01))) as (a, b),
        b.popen([sys.executable, "-c", RECEIVE_STREAM], text=False) as there,
    ):
        assert there.stdout is not None
        there.stdout.readline()
        a.run([sys.executable, "-c", SEND_STREAM, str(tmp_path / "sent"), b.address])
        assert there.stdout.read() == sent


OWNER = """
import sys
from tests.hosts.network import Wire, two_hosts
with two_hosts({wire}) as (a, b), b.popen(["sh", "-c", "setsid sleep 1000 & echo $!; wait"]) as process:
    print(a.network.pid, process.stdout.readline().strip(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("wire", ["None", "Wire()"], ids=["veth", "tap"])
def test_nothing_is_left_when_the_test_is_killed(wire: str) -> None:
    with hosts(2):  # skips the test if namespaces are forbidden
        pass
    command = [sys.executable, "-c", OWNER.format(wire=wire)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        started = [psutil.Process(int(pid)) for pid in owner.stdout.readline().split()]
        assert len(started) == 2
        owner.kill()
    assert psutil.wait_procs(started, timeout=20)[1] == []


def test_nothing_runs_on_hosts_that_have_gone() -> None:
    with two_hosts() as (_, b):
        process = subprocess.Popen([*b.before, "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()  # the process has entered the namespaces of its host
    assert process.wait(20) == -signal.SIGKILL
