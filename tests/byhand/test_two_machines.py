"""The commands on two machines that share no folder, no loopback device and no clock."""

from __future__ import annotations

import importlib.util
import shutil
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.hosts.network import Host, two_hosts
from tests.interactive.running import Command, start

pytestmark = pytest.mark.slow

AHEAD_S = 1000
"""How far the clock of the second machine is ahead of the first one's."""
NEEDS = {"zeromq": "zmq", "nng": "pynng", "websocket": "websockets", "zenoh": "zenoh"}
BROKERS = {"mqtt": ("mosquitto", "paho"), "nats": ("nats-server", "nats"), "redis": ("redis-server", "redis")}
DAEMONS = "/usr/sbin:/usr/bin:/usr/local/bin"


def ready() -> list[str]:
    """Middlewares that reach another machine and are installed here; TCP always is."""
    direct = [mware for mware, module in NEEDS.items() if importlib.util.find_spec(module)]
    brokers = [
        mware
        for mware, (program, module) in BROKERS.items()
        if shutil.which(program, path=DAEMONS) and importlib.util.find_spec(module)
    ]
    return ["tcp", *direct, *brokers]


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
