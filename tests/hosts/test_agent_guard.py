"""Tests for the access control of a listening agent: the peer's address, user and secret, and invalid options."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from hopmeter.errors import UsageError
from hopmeter.hosts.agent.listener import MOST_LINES, BoundedLog
from hopmeter.hosts.coordinator.hosts_file import read_hosts
from hopmeter.hosts.protocol.agent_address import AgentAddress, peer_user
from hopmeter.hosts.protocol.line_channel import ChannelError
from hopmeter.hosts.protocol.shared_secret import Handshake, make_nonce
from hopmeter.hosts.protocol.socket_channel import SocketChannel
from tests.coded import lacking, refuses
from tests.command import environment_in, hopmeter
from tests.waiting import wait_for


def test_lines_are_changed_by_nobody() -> None:
    keys = Handshake(b"s" * 32, make_nonce(), make_nonce())
    agent, coordinator, other = keys.codes("agent"), keys.codes("coordinator"), keys.codes("coordinator")
    lines = [agent.sign(text) for text in (b"one", b"two")]
    assert [coordinator.check(line) for line in lines] == [b"one", b"two"]
    for forged in (lines[1], lines[0].replace(b"one", b"two"), keys.codes("coordinator").sign(b"one"), b"one", b""):
        with pytest.raises(ChannelError):
            other.check(forged)
        other = keys.codes("coordinator")
    assert not keys.is_proof("agent", keys.proof("coordinator")) and not keys.is_proof("agent", "é" * 64)
    assert keys.is_proof("agent", keys.proof("agent"))


def test_a_line_that_somebody_else_has_sent_ends_the_conversation() -> None:
    own, theirs = socket.socketpair()
    with own, theirs:
        channel = SocketChannel(own, Handshake(b"s" * 32, make_nonce(), make_nonce()).codes("agent"))
        theirs.sendall(b'{"say":"ask","id":1,"do":"ping"}\n')
        with pytest.raises(ChannelError, match="altered"):
            channel.receive()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "E-AGENT-CHANNEL --stdio --listen"),
        (("--stdio", "--secret-file", "x"), "E-AGENT-CHANNEL --secret-file"),
        (("--listen", "7777"), "E-VALUE-FORM --listen 7777"),
        (("--listen", "0.0.0.0:7777"), "E-AGENT-EXPOSED --secret-file --cert"),
        (("--listen", "jetson:7777"), "E-AGENT-EXPOSED jetson:7777"),
        (("--listen", "203.0.113.1:7777", "--secret-file", "new"), "E-AGENT-LISTEN 203.0.113.1:7777"),
        (("--listen", "unix:/tmp/hopmeter-agent"), "E-AGENT-LISTEN chmod"),
        (("--listen", "127.0.0.1:0", "--secret-file", "open"), "E-HOST-SECRET --secret-file chmod"),
        (("--listen", "127.0.0.1:0", "--secret-file", "short"), "E-HOST-SECRET --secret-file 5"),
        (("--listen", "127.0.0.1:0", "--cert", "short"), "E-HOST-TLS --key --ca"),
        (("--listen", "127.0.0.1:0", "--cert", "short", "--key", "short", "--ca", "short"), "E-HOST-TLS --key short"),
    ],
)
def test_an_agent_that_would_be_open_or_cannot_listen_is_refused(
    tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    (tmp_path / "open").write_text("x" * 40)
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "short").write_text("short")
    (tmp_path / "short").chmod(0o600)
    done = hopmeter("agent", *options, cwd=tmp_path, env=environment_in(tmp_path))
    assert done.returncode == 2 and lacking(done.stderr, says) == [], done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('listens = "10.0.0.2:7777"', "E-HOST-ENTRY listens secret_file cert"),
        ('listens = "jetson:7777"\ncert = "a"\nkey = "b"', "E-HOST-ENTRY ca"),
        ('listens = "jetson"', "E-VALUE-FORM :2: listens"),
        ('listens = "127.0.0.1:0"', "E-VALUE-FORM :2: listens"),
        ('ssh = "jetson"\nsecret_file = "x"', "E-HOST-ENTRY secret_file listens"),
        ('listens = "127.0.0.1:1"\nssh = "jetson"', "E-HOST-ENTRY ssh listens"),
    ],
)
def test_an_entry_that_listens_is_checked(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "hosts.toml").write_text(f"[host.far]\n{text}\n")
    with refuses(UsageError, says):
        read_hosts(tmp_path / "hosts.toml")


def test_an_entry_has_the_address_of_its_agent_and_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text('[host.far]\nlistens = "10.0.0.2:7777"\nsecret_file = "s"\n')
    far = read_hosts(tmp_path / "hosts.toml").host["far"]
    assert far.address == "10.0.0.2" and far.secret_file == tmp_path / "s"
    assert [str(AgentAddress.parse(text)) for text in ("[::1]:5", "localhost:5")] == ["[::1]:5", "127.0.0.1:5"]
    assert AgentAddress.parse("[::1]:5").stays_here and not AgentAddress.parse("[::ffff:127.0.0.1]:5").stays_here


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX])
def test_the_user_at_the_other_end_is_known(tmp_path: Path, family: socket.AddressFamily) -> None:
    place = {socket.AF_INET: ("127.0.0.1", 0), socket.AF_INET6: ("::1", 0), socket.AF_UNIX: str(tmp_path / "s")}[family]
    with socket.socket(family) as server, socket.socket(family) as client:
        server.bind(place)
        server.listen()
        client.connect(server.getsockname())
        connection = server.accept()[0]
        with connection:
            assert peer_user(connection) == os.getuid()
            client.close()
            if family != socket.AF_UNIX:
                wait_for(lambda: peer_user(connection) is None)


def test_a_flood_does_not_fill_a_log() -> None:
    lines: list[str] = []
    log = BoundedLog(lines.append)
    for number in range(100):
        log.say(f"peer {number}\x1b[2J")
    assert len(lines) == MOST_LINES + 1 and "\x1b" not in "".join(lines)
