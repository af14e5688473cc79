"""Tests for hosts behind a real ssh server on the loopback device, with keys created by the test."""

from __future__ import annotations

import getpass
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from tests.coded import lacking
from tests.command import command, environment_in, hopmeter, running
from tests.hosts.network import Wire, two_hosts
from tests.waiting import wait_for, wait_for_trial

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SSHD = shutil.which("sshd", path=os.pathsep.join(["/usr/sbin", "/usr/local/sbin", str(ROOT / "build/sshd/usr/sbin")]))
"""The sshd binary; `make test-rest` unpacks one with setup/sshd.sh."""
NEEDED = [name for name in ("ssh", "ssh-keygen", "unshare", "mount") if not shutil.which(name)]
# sshd refuses to start without the package's user and folder; this mount namespace provides both.
PREPARE = """mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd
mount --bind {passwd} /etc/passwd
exec {sshd} -D -e -f {conf}"""
CONF = """Port {port}
ClientAliveInterval 2
ListenAddress {address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile none
"""
SCENARIO = """
title = "Via ssh"
question = "Is a planned delay to a host behind ssh found?"
transport = "synthetic"
language = "python"
wait = "block"
cores = "free"
duration = "300ms"
trials = 1
settings.synthetic.delay_us = 3000
participant.camera.host = "here"
participant.motor.host = "far"
flow.frames = { from = "camera", to = "motor", rate = 100, payload = "bytes:100" }
"""


@dataclass
class Server:
    folder: Path
    address: str
    port: int
    process: psutil.Process

    def entry(self, name: str, key: str = "user", known: str = "known", command: tuple[str, ...] = ()) -> str:
        usual = ["env", f"XDG_RUNTIME_DIR={self.folder}", sys.executable, "-m", "hopmeter"]
        options = ["-F", "none", "-p", str(self.port), "-i", str(self.folder / key), "-o", "IdentitiesOnly=yes"]
        options += ["-o", f"UserKnownHostsFile={self.folder / known}", "-o", "StrictHostKeyChecking=yes"]
        told = {"ssh": f"{getpass.getuser()}@{self.address}", "options": options, "command": [*(command or usual)]}
        return f"[host.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ssh_server(tmp_path_factory.mktemp("sshd")) as found:
        yield found


@contextmanager
def ssh_server(folder: Path, address: str = "127.0.0.1", before: tuple[str, ...] = ()) -> Iterator[Server]:
    """Start an ssh server with a host key, an accepted user key and an unknown user key; `before` selects a test
    host."""
    if SSHD is None or NEEDED:
        pytest.skip(f"needs {', '.join([*NEEDED, *([] if SSHD else ['sshd'])])}: setup/sshd.sh unpacks openssh-server")
    for name in ("host", "user", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "known").write_text(f"[{address}]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "empty").write_text("")
    (folder / "conf").write_text(CONF.format(address=address, port=port, folder=folder))
    passwd = Path("/etc/passwd").read_text()
    own = "" if "\nsshd:" in passwd else "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
    (folder / "passwd").write_text(passwd + own)
    words = {name: shlex.quote(str(path)) for name, path in (("passwd", folder / "passwd"), ("conf", folder / "conf"))}
    script = PREPARE.format(sshd=shlex.quote(SSHD), **words)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*before, "unshare", "--mount", "sh", "-c", script], stdout=log, stderr=log)
    try:
        wait_for(lambda: "Server listening" in (folder / "log").read_text() or process.poll() is not None)
        if process.poll() is not None:
            pytest.skip(f"no ssh server may start here: {(folder / 'log').read_text()[-300:]}")
        yield Server(folder, address, port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait()


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return hopmeter(*words, cwd=folder, env=environment_in(folder))


def test_a_host_behind_ssh_runs_its_part(tmp_path: Path, server: Server) -> None:
    (tmp_path / "hosts.toml").write_text("[host.here]\nhere = true\n" + server.entry("far"))
    (tmp_path / "ssh.toml").write_text(SCENARIO)
    done = run(tmp_path, "run", "ssh.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    (row,) = [each for each in rows if each["flow"] == "frames"]
    assert row["received"] == 30 and row["service_min_us"] >= 3000
    assert not list(server.folder.glob("hm-*")) and not list(tmp_path.glob("hm-*"))


def test_a_connection_that_ends_within_a_run_is_named_and_leaves_nothing(tmp_path: Path, server: Server) -> None:
    (tmp_path / "hosts.toml").write_text("[host.here]\nhere = true\n" + server.entry("far"))
    (tmp_path / "ssh.toml").write_text(SCENARIO.replace("trials = 1", "trials = 40"))
    words = ("run", "ssh.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report")
    with running(*words, cwd=tmp_path, env=environment_in(tmp_path)) as done:
        wait_for_trial(tmp_path / ".run.partial")
        started = server.process.children(recursive=True)
        for session in server.process.children():
            session.kill()
        printed = done.communicate()
    trials = pq.read_table(tmp_path / "run/trials.parquet").to_pylist()
    assert any(row["good"] for row in trials), printed
    reasons = {row["reason"] for row in trials if not row["good"]}
    assert any(not lacking(each, "E-HOST-GONE far cut") for each in reasons), reasons
    assert not psutil.wait_procs(started, timeout=20)[1], "the agent and its nodes have ended"
    assert not list(server.folder.glob("hm-*")) and not list(tmp_path.glob("hm-*"))


def test_a_cut_wire_ends_the_run_on_both_sides(tmp_path: Path) -> None:
    server_side = tmp_path / "server"
    server_side.mkdir()
    with two_hosts(wire=Wire()) as (near, far), ssh_server(server_side, far.address, far.before) as server:
        here = f'[host.here]\nhere = true\naddress = "{near.address}"\n'
        (tmp_path / "hosts.toml").write_text(here + server.entry("far") + f'address = "{far.address}"\n')
        text = SCENARIO.replace('"synthetic"', '"tcp"').replace("settings.synthetic.delay_us = 3000\n", "")
        (tmp_path / "ssh.toml").write_text(text.replace("trials = 1", "trials = 40"))
        words = command("run", "ssh.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report")
        with near.popen(words, cwd=tmp_path, env=environment_in(tmp_path)) as done:
            wait_for_trial(tmp_path / ".run.partial")
            started = server.process.children(recursive=True)
            near.cut(far)
            printed = done.communicate()
        trials = pq.read_table(tmp_path / "run/trials.parquet").to_pylist()
        reasons = {row["reason"] for row in trials if not row["good"]}
        assert any(not lacking(each, "E-HOST-GONE far cut") for each in reasons), (reasons, printed)
        assert not psutil.wait_procs(started, timeout=30)[1], "the agent and its nodes have ended"
    assert not list(tmp_path.glob("**/hm-*"))


def test_errors_of_ssh_are_told_in_plain_words(tmp_path: Path, server: Server) -> None:
    entries = (
        server.entry("stranger", key="stranger"),
        server.entry("unknown", known="empty"),
        server.entry("bare", command=("no-such-hopmeter",)),
        server.entry("mute", command=("true",)),
        server.entry("good"),
    )
    (tmp_path / "hosts.toml").write_text("".join(entries))
    done = run(tmp_path, "hosts", "--hosts", "hosts.toml", "--json")
    rows = {row["host"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 1 and rows["good"]["reachable"], done.stderr
    expected = {"stranger": "refuses your key", "unknown": "accept the key", "bare": "no hopmeter", "mute": "no agent"}
    for name, words in expected.items():
        assert rows[name]["code"] == "E-HOST-UNREACHABLE" and words in rows[name]["error"], rows[name]
