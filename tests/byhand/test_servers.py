"""`hopmeter serve` and `hopmeter ask`: real servers of different transports, asked at once and in turn."""

from __future__ import annotations

import importlib.util
import re
from contextlib import ExitStack
from pathlib import Path

import psutil

from tests.byhand.running import Command, started

OTHER = "zeromq" if importlib.util.find_spec("zmq") else "queue"


def mean_ms(said: str, row: str) -> float:
    """The first figure of a row of the table."""
    found = re.search(rf"^{row} .*?([\d.]+)", said, re.MULTILINE)
    assert found is not None, said
    return float(found[1])


def test_servers_are_asked_at_once_and_in_turn_until_they_are_ended(tmp_path: Path) -> None:
    meeting = ("--folder", str(tmp_path / "meeting"))
    with ExitStack() as closing:

        def start(log: str, *words: str) -> Command:
            return closing.enter_context(started(tmp_path / log, *words, *meeting))

        servers = [
            start("left.log", "serve", "left", "--transport", "unix", "--work", "sleep:40ms"),
            start("right.log", "serve", "right", "--transport", OTHER, "--work", "sleep:60ms"),
        ]
        for server in servers:
            server.says("serving .*Ctrl-C ends it")
        frame = ("--width", "32", "--height", "24", "--within", "60")
        at_once = start("at_once.log", "ask", "left", "right", "--frames", "4", "--n-thread", "2", *frame)
        assert at_once.ends() == 0, at_once.said
        in_turn = start("in_turn.log", "ask", "left", "right", "--number", "3", "--in-turn", "--coef", "0.5", *frame)
        assert in_turn.ends() == 0, in_turn.said
        assert mean_ms(at_once.said, "all at once") >= 60
        assert mean_ms(in_turn.said, "one after the other") >= 50
        assert "the work alone" not in at_once.said  # two threads wait for one another
        assert "the work alone takes 50 ms" in in_turn.said
        family = [each for server in servers for each in server.family()]
        for server in servers:
            server.interrupt()
            assert server.ends() == 0
            assert "11 calls answered" in server.said
        assert psutil.wait_procs(family, timeout=20)[1] == []
    assert list((tmp_path / "meeting").iterdir()) == []


def test_a_server_that_is_not_there_is_named_with_the_command_that_starts_it(tmp_path: Path) -> None:
    words = ("ask", "nobody", "--within", "0", "--folder", str(tmp_path / "meeting"))
    with started(tmp_path / "ask.log", *words) as asking:
        assert asking.ends() == 1
        assert 'nobody is there under "nobody"' in asking.said
        assert "hopmeter serve nobody" in asking.said
