"""The commands on two machines that share no folder, no loopback device and no clock."""

from __future__ import annotations

import csv
import importlib.util
import re
import shutil
from contextlib import ExitStack
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from tests.byhand.running import Command, start
from tests.hosts.network import Host, two_hosts

pytestmark = pytest.mark.slow

AHEAD_S = 1000
"""How far the clock of the second machine is ahead of the first one's."""
NEEDS = {"zeromq": "zmq", "nng": "pynng", "websocket": "websockets", "zenoh": "zenoh"}
BROKERS = {"mqtt": ("mosquitto", "paho"), "nats": ("nats-server", "nats"), "redis": ("redis-server", "redis")}
DAEMONS = "/usr/sbin:/usr/bin:/usr/local/bin"
TRUE_TO = re.compile(r"two machines: delays are true to \N{PLUS-MINUS SIGN}(\d+) us")


def ready() -> list[str]:
    """Middlewares that reach another machine and are installed here; TCP always is."""
    direct = [mware for mware, module in NEEDS.items() if importlib.util.find_spec(module)]
    brokers = [
        mware
        for mware, (program, module) in BROKERS.items()
        if shutil.which(program, path=DAEMONS) and importlib.util.find_spec(module)
    ]
    return ["tcp", *direct, *brokers]


def options(folder: Path, side: str, meet: str, mwares: list[str]) -> list[str]:
    words = ["--plugins", "numpy", "--mwares", *mwares, "--width", "200", "--height", "200"]
    flow = ["--trials", "20", "--skip-trials", "3", "--rate", "100", "--meet", meet]
    return [*words, *flow, "--folder", str(folder / side), "--out", str(folder / "out")]


def read_log(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def clock_is_right(folder: Path, mware: str, said: str) -> bool:
    """Whether what the listener knows of the publisher's clock is as true as it says. How far they are apart is known
    here, and nowhere else."""
    row = next(line for line in said.splitlines() if re.match(rf"{mware} +numpy ", line))
    true_to = TRUE_TO.search(row)
    sent = {
        row["seq"]: row["sent_ns"] for row in pq.read_table(folder / f"publisher-{mware}-numpy.parquet").to_pylist()
    }
    came = pq.read_table(folder / f"listener-{mware}-numpy.parquet").to_pylist()
    if true_to is None:
        return "more than the delay" in row and all(each["sent_ns"] is None for each in came)
    errors = [each["sent_ns"] - sent[each["seq"]] - AHEAD_S * 10**9 for each in came]
    return bool(errors) and max(map(abs, errors)) <= (int(true_to[1]) + 1) * 1000


def test_every_transport_that_leaves_the_machine_is_measured_by_two_clocks(tmp_path: Path) -> None:
    with two_hosts(ahead_s=AHEAD_S) as (one, other):
        publishing = options(tmp_path, "one", f"{one.address}:7701", [*ready(), "unix"])
        listening = options(tmp_path, "other", f"{one.address}:7701", [*ready(), "unix"])
        beyond = {"COLUMNS": "400"}
        with (
            start(tmp_path / "listen", "listen", *listening, before=other.before, beyond=beyond) as listener,
            start(tmp_path / "publish", "publish", *publishing, before=one.before, beyond=beyond) as publisher,
        ):
            assert publisher.ends() == 0, publisher.output + listener.output
            assert listener.ends() == 0, listener.output
            for said in (publisher.output, listener.output):
                assert re.search("numpy over unix: .*does not reach another machine .these do: .*tcp", said), said
            sent = read_log(tmp_path / "out/publisher.csv")
            assert {row["middleware"] for row in sent} == set(ready())
            for mware in ready():
                assert clock_is_right(tmp_path / "out/samples", mware, listener.output), listener.output
            came = read_log(tmp_path / "out/listener.csv")
            assert {row["middleware"] for row in came} == set(ready())
            assert all(float(row["delay"]) > 0 for row in came)
    assert [*(tmp_path / "one").iterdir(), *(tmp_path / "other").iterdir()] == []


def test_servers_on_another_machine_are_asked(tmp_path: Path) -> None:
    """One over calls of the transport's own, one over links there and back, which its command has to tell of."""
    native = next((mware for mware in ("zeromq", "nng", "zenoh") if mware in ready()), "tcp")
    servers = {"left": (native, "7702"), "right": ("tcp", "7703")}
    with two_hosts(ahead_s=AHEAD_S) as (one, other), ExitStack() as closing:

        def start_on(log: str, machine: Host, *words: str) -> Command:
            folder = ("--folder", str(tmp_path / machine.address))
            return closing.enter_context(start(tmp_path / log, *words, *folder, before=machine.before))

        serving = []
        for name, (mware, port) in servers.items():
            where = ("--transport", mware, "--work", "sleep:5ms", "--meet", f"{one.address}:{port}")
            serving.append(start_on(name, one, "serve", name, *where))
        for server in serving:
            server.says("serving .*Ctrl-C ends it")
        met = [word for name, (_, port) in servers.items() for word in ("--meet", f"{name}={one.address}:{port}")]
        frame = ("--frames", "5", "--width", "32", "--height", "24", "--within", "60")
        asking = start_on("ask", other, "ask", *servers, *met, *frame, "--out", str(tmp_path / "out"))
        assert asking.ends() == 0, asking.output
        assert "the work alone takes 5 ms" in asking.output
        family = [each for server in serving for each in server.family()]
        for server in serving:
            server.interrupt()
            assert server.ends() == 0, server.output
            assert "6 calls answered" in server.output, "one warms up"
        assert psutil.wait_procs(family, timeout=20)[1] == []
    assert [path for machine in (one, other) for path in (tmp_path / machine.address).iterdir()] == []
