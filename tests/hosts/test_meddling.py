"""Tests for attacks on the connection to a listening agent: a man in the middle, and incomplete credentials."""

from __future__ import annotations

import select
import shutil
import time
from pathlib import Path

import pytest

from hopmeter.hosts.coordinator.agent_socket import AgentSocket
from hopmeter.hosts.coordinator.connection import Connection
from hopmeter.hosts.coordinator.hosts_file import HostEntry
from hopmeter.hosts.protocol.greeting import HostError
from hopmeter.hosts.protocol.line_channel import ChannelError
from hopmeter.hosts.protocol.shared_secret import make_secret
from tests.coded import refuses
from tests.hosts.certificates import entry_with_tls, make_certificates
from tests.hosts.meddler import MEDDLINGS, man_in_the_middle
from tests.hosts.test_listening_agent import Start, session, start

pytestmark = pytest.mark.slow

__all__ = ["start"]

ASKS = 6
PATIENCE_S = 20.0


def converse(link: AgentSocket) -> int:
    """Send several requests at once, and count the answers. Raises ChannelError if an answer is forged."""
    answers, deadline = 0, time.monotonic() + PATIENCE_S
    for number in range(ASKS):
        link.channel.send({"say": "ask", "id": number, "do": "ping"})
    while (answers := answers + len(link.channel.receive())) < ASKS and not link.channel.closed:
        assert select.select([link.channel], [], [], deadline - time.monotonic())[0]
    return answers


def converse_through(port: int, secret: Path) -> int:
    link = AgentSocket("far", HostEntry(listens=f"127.0.0.1:{port}", secret_file=secret))
    try:
        Connection("far", link.channel, link.why_gone)
        return converse(link)
    finally:
        link.close()


@pytest.mark.parametrize("what", MEDDLINGS)
def test_lines_that_a_man_in_the_middle_touches_end_the_conversation(tmp_path: Path, start: Start, what: str) -> None:
    """Unchanged lines arrive; the receiver of a changed line detects the tampering."""
    agent, secret, meddle = start("127.0.0.1:0", "--secret-file", "secret"), tmp_path / "secret", MEDDLINGS[what]
    with man_in_the_middle(agent.port, None, None) as port:
        assert converse_through(port, secret) == ASKS
    with man_in_the_middle(agent.port, None, meddle) as port, pytest.raises(ChannelError, match="altered"):
        converse_through(port, secret)
    with man_in_the_middle(agent.port, meddle, None) as port:
        assert converse_through(port, secret) < ASKS
    agent.says("a line was altered")
    with session(HostEntry(listens=agent.at, secret_file=secret)) as served:
        assert served.ping().least_ns > 0


def test_an_agent_with_certificates_and_a_secret_wants_both(tmp_path: Path, start: Start) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("making certificates needs `openssl`")
    make_certificates(tmp_path)
    make_secret(tmp_path / "other")
    options = ("--cert", "agent.pem", "--key", "agent.key", "--ca", "ca.pem", "--secret-file", "secret")
    agent = start("127.0.0.1:0", *options)

    def entry(own: str, secret: str) -> HostEntry:
        file = tmp_path / secret if secret else None
        return entry_with_tls(agent.at, tmp_path, own, "ca").model_copy(update={"secret_file": file})

    for own, secret, says in (
        ("coordinator", "other", "E-HOST-SECRET far differs"),
        ("coordinator", "", "E-HOST-SECRET far secret_file"),
        ("foreign", "secret", "E-HOST-TLS far cert"),
    ):
        with refuses(HostError, says), session(entry(own, secret)):
            pass
    with session(entry("coordinator", "secret")) as served:
        assert served.ping().least_ns > 0
