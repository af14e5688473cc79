"""Tests for the protocol between coordinator and agent: each side refuses invalid messages, because the peer is
untrusted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from hopmeter.hosts.agent.trial import AgentTrial
from hopmeter.hosts.coordinator.connection import Connection
from hopmeter.hosts.coordinator.host_clock import HostClock
from hopmeter.hosts.coordinator.questions import BusyAgents
from hopmeter.hosts.coordinator.remote_node import RemoteNode
from hopmeter.hosts.protocol.agent_process import AgentProcess
from hopmeter.hosts.protocol.greeting import Greeting, HostError
from hopmeter.hosts.protocol.line_channel import LONGEST_LINE, ChannelError, LineChannel
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.node import Start
from hopmeter.system.processes import start_ticks
from tests.coded import lacking
from tests.command import command
from tests.waiting import wait_for

AGENT = command("agent", "--stdio")
RUN = "0123456789abcdef"


@contextmanager
def pair() -> Iterator[tuple[LineChannel, socket.socket]]:
    own, theirs = socket.socketpair()
    with own, theirs:
        yield LineChannel(own.fileno(), own.fileno()), theirs


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_a_line_that_arrives_while_another_is_sent_is_not_forgotten() -> None:
    """The kernel has already reported the data as readable, so the channel itself must report the pending line."""
    with pair() as (channel, peer):
        peer.sendall(b'{"say":"ping"}\n')
        full = socket.socket(fileno=os.dup(channel.fileno()))
        with full, suppress(BlockingIOError):
            while True:
                full.send(b" " * 4096)

        def read() -> None:
            wait_for(lambda: channel.has_lines)
            while b"pong" not in peer.recv(1 << 20):
                pass

        reader = threading.Thread(target=read)
        reader.start()
        channel.send({"say": "pong"})
        reader.join()
        assert channel.has_lines and channel.receive() == [{"say": "ping"}] and not channel.has_lines


@pytest.mark.parametrize(
    "line",
    [
        b"no json\n",
        b"[" * 60_000 + b"\n",
        b'["say"]\n',
        b'{"say":1}\n',
        b'{"say":"x","n":' + b"9" * 30 + b"}\n",
        b"x" * (LONGEST_LINE + 2),
    ],
)
def test_a_line_that_is_no_message_is_refused(line: bytes) -> None:
    with pair() as (channel, theirs):
        writer = threading.Thread(target=theirs.sendall, args=(line,))
        writer.start()

        def refuses() -> bool:
            try:
                channel.receive()
            except ChannelError:
                return True
            return False

        wait_for(refuses)
        theirs.shutdown(socket.SHUT_RDWR)
        writer.join()


def test_both_ends_may_send_more_than_the_channel_holds() -> None:
    """Each side continues to read while it sends."""
    big = {"say": "x", "text": "y" * 900_000}

    def talk(end: LineChannel, found: list[Any]) -> None:
        for _ in range(3):
            end.send(big)
        wait_for(lambda: found.extend(end.receive()) or len(found) == 3)

    own, theirs = socket.socketpair()
    with own, theirs:
        found: tuple[list[Any], list[Any]] = ([], [])
        other = threading.Thread(target=talk, args=(LineChannel(theirs.fileno(), theirs.fileno()), found[1]))
        other.start()
        talk(LineChannel(own.fileno(), own.fileno()), found[0])
        other.join()
        assert found == ([big] * 3, [big] * 3)


def fake_agent(*lines: bytes) -> list[str]:
    """Return a command that prints these lines and reads its standard input until the input ends."""
    program = f"import sys\nsys.stdout.buffer.write({b''.join(lines)!r}); sys.stdout.flush()\nsys.stdin.read()"
    return [sys.executable, "-c", program]


def hello(**changed: Any) -> bytes:
    return json.dumps({**Greeting.own("agent").as_message(), **changed}).encode() + b"\n"


def connect(home: Path, command: list[str]) -> Connection:
    process = AgentProcess("one", command, home / "errors")
    try:
        return Connection("one", process.channel, process.why_gone)
    finally:
        process.close()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (fake_agent(hello(hopmeter="9.9")), "E-HOST-VERSION 9.9 one"),
        (fake_agent(hello(spec_format=3)), "E-HOST-VERSION (spec format 3)"),
        (fake_agent(hello(clock="a\x1b[2Jb")), "E-HOST-UNREACHABLE damaged"),
        (fake_agent(hello(pid="1")), "E-HOST-UNREACHABLE damaged"),
        (["cat"], "E-HOST-UNREACHABLE agent"),
        (["echo", "Welcome to jetson"], "E-HOST-UNREACHABLE Welcome"),
        (["sh", "-c", "echo Permission denied '(publickey)' >&2; exit 255"], "E-HOST-UNREACHABLE key 255"),
        (["sh", "-c", "no-such-hopmeter agent"], "E-HOST-UNREACHABLE hopmeter 127"),
        (["/no/such/command"], "E-HOST-UNREACHABLE /no/such/command"),
    ],
)
def test_an_agent_that_cannot_be_used_is_refused_with_the_reason(home: Path, command: list[str], says: str) -> None:
    with pytest.raises(HostError) as refused:
        connect(home, command)
    assert lacking(refused.value.message, says) == []


def test_what_a_login_shell_prints_before_the_greeting_does_not_matter(home: Path) -> None:
    assert connect(home, fake_agent(b"Welcome!\n\xff\xfe\n", hello())).greeting.spec_format


def test_an_agent_refuses_a_coordinator_of_another_version(home: Path) -> None:
    done = subprocess.run(AGENT, input=hello(hopmeter="9.9", role="coordinator"), capture_output=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["say"] for each in answers] == ["hello", "refused"] and done.returncode == 2
    assert lacking(done.stderr.decode(), "E-HOST-VERSION 9.9") == []


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\r\n", b'{"say":"ask"}\n', b'{"say":"ask","id":-1,"do":"ping"}\n'])
def test_an_agent_ends_when_its_peer_is_no_coordinator(home: Path, line: bytes) -> None:
    done = subprocess.run(AGENT, input=hello(role="coordinator") + line, capture_output=True, check=False)
    assert done.returncode == 2 and lacking(done.stderr.decode(), "E-HOST-PEER") == []


def test_an_agent_ends_with_its_parent_and_on_a_signal(home: Path) -> None:
    """The channel stays open in another process, so only the exit of the parent ends the agent."""
    reading, writing = os.pipe()
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys; subprocess.Popen({AGENT!r}, stdin={reading}, close_fds=False).wait()",
        ],
        stdout=subprocess.PIPE,
        pass_fds=[reading],
    )
    assert parent.stdout is not None
    greeting = json.loads(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_for(lambda: start_ticks(greeting["pid"]) is None)
    for each in (reading, writing):
        os.close(each)
    parent.stdout.close()
    process = AgentProcess("one", AGENT, home / "errors")
    pid = Connection("one", process.channel).greeting.pid
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not process.channel.receive() and process.channel.closed)
    process.close()
    assert not list(home.glob("hm-*"))


def connect_to_script(
    answer: Callable[[dict[str, Any]], Iterable[bytes]], busy: BusyAgents | None = None
) -> Connection:
    """Connect a coordinator to an agent that answers each request with these lines."""
    own, theirs = socket.socketpair()
    theirs.sendall(hello())

    def serve() -> None:
        with theirs, theirs.makefile("rb") as questions:
            next(questions)  # the greeting
            for line in questions:
                for each in answer(json.loads(line)):
                    theirs.sendall(each)

    threading.Thread(target=serve, daemon=True).start()
    connection = Connection("one", LineChannel(own.fileno(), own.fileno()), busy=busy)
    connection.__dict__["keeps"] = own
    return connection


@pytest.mark.parametrize(
    "answer",
    [
        b"x\n",
        b'{"say":"answer","id":99,"value":{}}\n',
        b'{"say":"answer","id":1,"value":[]}\n',
        b'{"say":"error","id":1}\n',
        b'{"say":"error","id":1,"code":"\\u001b[2J","what":"","remedy":""}\n',
        b'{"say":"from","trial":7}\n',
        b"[" * 5000 + b"\n",
    ],
)
def test_a_coordinator_gives_up_an_agent_that_sends_something_else(answer: bytes) -> None:
    with pytest.raises(TrialFailedError) as given_up:
        connect_to_script(lambda _: [answer]).ask("ping")
    assert given_up.value.code == "E-HOST-GONE" and "one" in given_up.value.what


def test_several_questions_are_answered_in_any_order() -> None:
    def answer(ask: dict[str, Any]) -> list[bytes]:
        told = {number: {"say": "answer", "id": number, "value": {"is": number}} for number in (1, 2, 3)}
        return [json.dumps(told[number]).encode() + b"\n" for number in (3, 2, 1)] if ask["id"] == 3 else []

    connection = connect_to_script(answer)
    first, second, third = (connection.post("ping") for _ in range(3))
    second.forget()
    assert (first.answer(), third.answer()) == ({"is": 1}, {"is": 3})
    assert not connection._answers, "an answer that nobody waits for is dropped"


def test_an_answer_that_nobody_asked_for_again_gives_the_agent_up() -> None:
    connection = connect_to_script(lambda _: [b'{"say":"answer","id":1,"value":{}}\n'])
    connection.ask("ping")
    with pytest.raises(TrialFailedError) as given_up:
        connection.ask("ping")
    assert given_up.value.code == "E-HOST-GONE"


def test_no_agent_waits_until_another_one_has_answered() -> None:
    """The second agent's answer does not fit into its channel, and the first agent answers only after the second."""
    is_sent, busy, value = threading.Event(), BusyAgents(), {"text": "x" * 900_000}

    def answer_late(_: dict[str, Any]) -> list[bytes]:
        assert is_sent.wait(60)
        return [b'{"say":"answer","id":1,"value":{}}\n']

    def answer_long(_: dict[str, Any]) -> Iterator[bytes]:
        yield json.dumps({"say": "answer", "id": 1, "value": value}).encode() + b"\n"
        is_sent.set()

    slow, fast = (connect_to_script(each, busy) for each in (answer_late, answer_long))
    asked = [each.post("ping") for each in (slow, fast)]
    assert [each.answer() for each in asked] == [{}, value]


def test_the_error_of_an_agent_names_the_host_and_where_its_remedy_belongs() -> None:
    told = {"say": "error", "id": 1, "code": "E-HOST-LACKS", "what": "it is not built", "remedy": "hopmeter build nng"}
    with pytest.raises(TrialFailedError) as failed:
        connect_to_script(lambda _: [json.dumps(told).encode() + b"\n"]).ask("start-node")
    assert failed.value.what == "on one: it is not built" and failed.value.remedy == "on one: hopmeter build nng"


def test_a_go_that_comes_too_late_fails_by_name(home: Path) -> None:
    trial = AgentTrial(cast("Any", None), RUN, [], cast("Any", None), Path)
    assert trial.say(0, {"say": "go", "start_ns": time.monotonic_ns() + 10**9}) == 0
    assert trial.say(0, {"say": "go", "start_ns": time.monotonic_ns()}) > 0
    connection = connect_to_script(lambda _: [])
    spec: dict[str, Any] = {"node": 3, "endpoints": [], "links": {}}
    node = RemoteNode(Start("node 3", "rust", (), spec, home, home), connection, RUN, HostClock())
    node.hear({"say": "late", "node": 3, "by_ns": 5_000_000})
    assert node.has_news
    with pytest.raises(TrialFailedError) as failed:
        list(node.read_messages())
    assert lacking(failed.value.reason, "E-HOST-LATE one 5.0") == []


@pytest.mark.parametrize(
    "message",
    [
        {"say": "shell"},
        {"say": "probed", "endpoint": [1], "pair": 0, "probe": 1},
        {"say": "probed", "endpoint": 7, "pair": 0, "probe": 1},
        {"say": "quiet", "pair": {}},
        {"say": "bound", "links": {"l9": "tcp://1.2.3.4:1"}},
        {"say": "bound", "links": ["l0"]},
        {"say": "done", "endpoints": [], "resources": {}, "facts": {}},
        {"say": "done", "endpoints": [{"id": 0, "role": "source", "sent": "x"}], "resources": {}, "facts": {}},
        {"say": "done", "endpoints": [{"id": 0, "role": "source"}], "resources": [], "facts": {}},
    ],
)
def test_a_message_that_the_node_cannot_send_fails_the_trial(home: Path, message: dict[str, Any]) -> None:
    connection = connect_to_script(lambda _: [])
    spec: dict[str, Any] = {"node": 0, "endpoints": [{"id": 0, "role": "source"}], "links": {"l0": {}}}
    node = RemoteNode(Start("node 0", "rust", (), spec, home, home), connection, RUN, HostClock())
    node.hear({"say": "from", "node": 0, "message": message})
    with pytest.raises(TrialFailedError) as failed:
        list(node.read_messages())
    assert failed.value.code == "E-NODE-GARBAGE"
