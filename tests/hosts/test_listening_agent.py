"""Tests for `hopmeter agent --listen`: runs over manually started agents, and unauthorised peers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from hopmeter.hosts.agent.listener import MOST_CALLERS, MOST_LINES
from hopmeter.hosts.coordinator.agent_socket import AgentSocket
from hopmeter.hosts.coordinator.connection import Connection
from hopmeter.hosts.coordinator.hosts_file import HostEntry
from hopmeter.hosts.protocol.greeting import HostError
from hopmeter.hosts.protocol.shared_secret import make_secret, read_secret
from hopmeter.runtime.failures import TrialFailedError
from tests.coded import lacking, refuses
from tests.command import command, environment_in, hopmeter
from tests.hosts.certificates import entry_with_tls, make_certificates
from tests.hosts.network import Host, Wire, two_hosts
from tests.hosts.tap_wire import Way
from tests.waiting import wait_for, wait_for_trial

pytestmark = pytest.mark.slow

DELAY_S = 0.003
SCENARIO = """
title = "By hand"
question = "Does a message reach a host whose agent listens?"
transport = "tcp"
language = "python"
wait = "block"
cores = "free"
duration = "300ms"
trials = 1
participant.camera.host = "here"
participant.motor.host = "far"
flow.frames = { from = "camera", to = "motor", rate = 100, payload = "bytes:100" }
"""
Start = Callable[..., "Agent"]


class Agent:
    """A running `hopmeter agent --listen` and its output."""

    def __init__(self, folder: Path, options: tuple[str, ...], host: Host | None) -> None:
        self.log = folder / "agent.log"
        words = [*(host.before if host else ()), *command("agent", "--listen", *options)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(words, cwd=folder, env=environment_in(folder), stdout=log, stderr=log)
        self.at = wait_for(self._address)

    def _address(self) -> str:
        assert self.process.poll() is None, self.log.read_text()
        text = self.log.read_text()
        return text.partition("listening on ")[2].partition(";")[0] if "Ctrl-C" in text else ""

    def says(self, *words: str) -> None:
        """Wait until the agent has printed these words."""
        wait_for(lambda: all(word in self.log.read_text() for word in words))

    @property
    def port(self) -> int:
        return int(self.at.rpartition(":")[2])

    def end(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the agent if it still runs, and check that its processes have exited."""
        if self.process.returncode is not None:
            return
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(how)
        assert self.process.wait(30) == (0 if how == signal.SIGINT else -how), self.log.read_text()
        assert not psutil.wait_procs(children, timeout=20)[1]

    def connect(self) -> socket.socket:
        """Connect as a peer that is not a coordinator."""
        return socket.create_connection(("127.0.0.1", self.port), 20)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start agents in the folder of the test, stop them with Ctrl-C at the end, and check that nothing is left."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    agents: list[Agent] = []

    def call(*options: str, host: Host | None = None) -> Agent:
        agents.append(Agent(tmp_path, options, host))
        return agents[-1]

    yield call
    for each in agents:
        each.end()
    assert not list(tmp_path.glob("hm-*"))


@contextmanager
def session(entry: HostEntry) -> Iterator[Connection]:
    link = AgentSocket("far", entry)
    try:
        yield Connection("far", link.channel, link.why_gone)
    finally:
        link.close()


def run(folder: Path, far: str, *before: str, here: str = "127.0.0.1", trials: int = 1) -> subprocess.Popen[str]:
    """Run `hopmeter run` with a listening agent; `far` is the agent's entry in the hosts file."""
    hosts = f'[host.here]\nhere = true\naddress = "{here}"\n[host.far]\n{far}\n'
    (folder / "hosts.toml").write_text(hosts)
    (folder / "far.toml").write_text(SCENARIO.replace("trials = 1", f"trials = {trials}"))
    words = [*before, *command("run", "far.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(words, cwd=folder, env=environment_in(folder), **pipes)


def check_run(folder: Path, done: subprocess.Popen[str], least_us: float = 0) -> None:
    printed = done.communicate()[0]
    assert done.returncode == 0, printed
    (row,) = [row for row in pq.read_table(folder / "run/cells.parquet").to_pylist() if row["flow"]]
    assert row["service_min_us"] > least_us and row["received"] == 30 and row["lost"] == 0
    assert row["hosts"] == "camera:here motor:far"
    shutil.rmtree(folder / "run")


def test_two_runs_over_an_agent_on_loopback_and_one_over_a_unix_socket(tmp_path: Path, start: Start) -> None:
    agent = start("localhost:0")
    for _ in range(2):
        check_run(tmp_path, run(tmp_path, f'listens = "{agent.at}"'))
    agent.says("is the coordinator", "has left")
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    start(f"unix:{private}/agent")
    check_run(tmp_path, run(tmp_path, f'listens = "unix:{private}/agent"'))
    shown = hopmeter("hosts", "--hosts", "hosts.toml", cwd=tmp_path, check=True)
    assert "far" in shown.stdout and "tcp" in shown.stdout


def test_a_run_between_two_networks_with_a_secret_and_a_cut_wire(tmp_path: Path, start: Start) -> None:
    """After a lost link, the processes on both sides exit within seconds, and the agent serves the next coordinator."""
    delay = Way(delay_s=DELAY_S)
    with two_hosts(wire=Wire(there=delay, back=delay)) as (a, b):
        agent = start(f"{b.address}:7777", "--secret-file", "secret", host=b)
        assert read_secret(tmp_path / "secret", "it").decode() in agent.log.read_text()
        far = f'listens = "{agent.at}"\nsecret_file = "secret"'
        check_run(tmp_path, run(tmp_path, far, *a.before, here=a.address), DELAY_S * 1e6)
        cut = run(tmp_path, far, *a.before, here=a.address, trials=200)
        wait_for_trial(tmp_path / ".run.partial")
        a.cut(b)
        printed = cut.communicate()[0]
        reasons = {row["reason"] for row in pq.read_table(tmp_path / "run/trials.parquet").to_pylist()} - {None, ""}
        assert any(not lacking(each, "E-HOST-GONE far") for each in reasons), (reasons, printed)
        wait_for(lambda: agent.log.read_text().count("has left") == 2)
        a.restore(b)
        shutil.rmtree(tmp_path / "run")
        check_run(tmp_path, run(tmp_path, far, *a.before, here=a.address), DELAY_S * 1e6)
        agent.end()


def start_load(connection: Connection) -> list[psutil.Process]:
    connection.ask("start-background", cores=[min(os.sched_getaffinity(0))], cpu_percent=1, memory_gb_s=0)
    started = psutil.Process(connection.greeting.pid).children(recursive=True)
    assert started
    return started


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_agent_that_ends_takes_its_session_along(start: Start, how: signal.Signals) -> None:
    agent = start("127.0.0.1:0")
    with session(HostEntry(listens=agent.at)) as served:
        start_load(served)
        agent.end(how)
        with refuses(TrialFailedError, "E-HOST-GONE far"):
            served.ask("ping")


def test_an_agent_serves_one_coordinator_and_keeps_serving(tmp_path: Path, start: Start) -> None:
    agent = start("127.0.0.1:0")
    entry = HostEntry(listens=agent.at)
    with session(entry) as first:
        started = start_load(first)
        with refuses(HostError, "E-HOST-BUSY far another"), session(entry):
            pass
        assert first.ping().least_ns > 0
    assert not psutil.wait_procs(started, timeout=0)[1], "all has ended when the coordinator has left"
    with session(entry) as second:
        os.kill(second.greeting.pid, signal.SIGKILL)
        with refuses(TrialFailedError, "E-HOST-GONE far"):
            second.ask("ping")
    with session(entry) as third:
        assert third.ping().least_ns > 0


HOSTILE = (
    (b"GET / HTTP/1.1\r\n\r\n", "no coordinator"),
    (b"[" * 1000 + b"\n", "no coordinator"),
    (b"x" * 60_000, "more than a proof"),
    (b'{"say":"prove","nonce":5}\n', "no coordinator"),
    (b"\xff\x00\n", "no coordinator"),
    (b"\x16\x03\x01", "left"),
)


def test_peers_that_are_no_coordinators_leave_an_agent_unharmed(start: Start) -> None:
    """Each peer gets the reason for its rejection, except for peers that have filled the connection."""
    agent = start("127.0.0.1:0")
    for sent, why in HOSTILE:
        with agent.connect() as peer, suppress(ConnectionError):
            peer.sendall(sent)
            peer.shutdown(socket.SHUT_WR)
            first, *rest = map(json.loads, peer.makefile("rb").read(4096).splitlines())
            assert first["say"] == "agent" and [each["code"] for each in rest] == ["E-HOST-PEER"] * len(rest)
        agent.says(why)
    with agent.connect() as slow:
        slow.sendall(b'{"say":')
        assert b"in time" in slow.makefile("rb").read(4096)
    with ExitStack() as ends:
        silent = [ends.enter_context(agent.connect()) for _ in range(2 * MOST_CALLERS)]
        with session(HostEntry(listens=agent.at)) as served:
            assert served.ping().least_ns > 0
        assert b"E-HOST-PEER" in silent[-1].makefile("rb").read(4096)
    agent.says("too many", "next lines follow")
    assert agent.log.read_text().count("refused") <= MOST_LINES


@pytest.mark.parametrize(
    ("here", "there", "says"),
    [
        ("other", "secret", "E-HOST-SECRET far differs secret_file"),
        ("", "secret", "E-HOST-SECRET far secret_file"),
        ("secret", "", "E-HOST-SECRET far secret_file"),
    ],
)
def test_a_wrong_secret_is_refused_by_name(tmp_path: Path, start: Start, here: str, there: str, says: str) -> None:
    for name in ("secret", "other"):
        make_secret(tmp_path / name)
    agent = start("127.0.0.1:0", *(("--secret-file", there) if there else ()))
    with refuses(HostError, says), session(HostEntry(listens=agent.at, secret_file=tmp_path / here if here else None)):
        pass
    with session(HostEntry(listens=agent.at, secret_file=tmp_path / there if there else None)) as served:
        assert served.ping().least_ns > 0


def test_an_agent_of_another_version_and_programs_that_are_no_agents_are_named(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = start("127.0.0.1:0")
    with monkeypatch.context() as patched, refuses(HostError, "E-HOST-VERSION far 9.9"):
        patched.setattr("hopmeter.__version__", "9.9")
        with session(HostEntry(listens=agent.at)):
            pass
    agent.says("has left")
    for sent, says in ((b"220 smtp\r\n", "E-HOST-UNREACHABLE listens far"), (b"x" * 5000, "E-HOST-UNREACHABLE far")):
        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=lambda s=server, data=sent: s.accept()[0].sendall(data))  # type: ignore[misc]
            thread.start()
            with refuses(HostError, says):
                AgentSocket("far", HostEntry(listens=f"127.0.0.1:{server.getsockname()[1]}"))
            thread.join()
    with refuses(HostError, "E-HOST-UNREACHABLE listens far refused"):
        AgentSocket("far", HostEntry(listens="127.0.0.1:1"))


def test_certificates_admit_and_refuse(tmp_path: Path, start: Start) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("making certificates needs `openssl`")
    make_certificates(tmp_path)
    agent = start("127.0.0.1:0", "--cert", "agent.pem", "--key", "agent.key", "--ca", "ca.pem")
    files = 'cert = "coordinator.pem"\nkey = "coordinator.key"\nca = "ca.pem"'
    check_run(tmp_path, run(tmp_path, f'listens = "{agent.at}"\n{files}'))
    for own, authority in (("foreign", "ca"), ("coordinator", "foreign")):
        with (
            refuses(HostError, "E-HOST-TLS far cert --cert"),
            session(entry_with_tls(agent.at, tmp_path, own, authority)),
        ):
            pass
    with refuses(HostError, "E-HOST-UNREACHABLE far ca"):
        AgentSocket("far", HostEntry(listens=agent.at))
    plain = start("127.0.0.1:0")
    with refuses(HostError, "E-HOST-TLS far ca"):
        AgentSocket("far", entry_with_tls(plain.at, tmp_path, "coordinator", "ca"))
    text = f'[host.far]\nlistens = "{agent.at}"\n{files}\n[host.bad]\nlistens = "{plain.at}"\nsecret_file = "none"\n'
    (tmp_path / "hosts.toml").write_text(text)
    shown = hopmeter("hosts", "--json", "--hosts", "hosts.toml", cwd=tmp_path)
    far, bad = map(json.loads, shown.stdout.splitlines())
    assert far["reachable"] and len(far["transports"]) > 5 and bad["code"] == "E-HOST-SECRET"
