"""Two commands find each other in a folder or at an address, and unauthorised peers are refused."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hopmeter.cli.parts.meeting_options import meeting_point_of
from hopmeter.errors import UsageError
from hopmeter.hosts.protocol.greeting import HostError
from hopmeter.hosts.protocol.shared_secret import make_secret
from hopmeter.interactive.meeting import PeerMissingError, connect_to_peer, join_hosts
from hopmeter.interactive.meeting_point import MeetingPoint
from hopmeter.runtime.signals import Alarm
from tests.coded import refuses
from tests.waiting import wait_for

COMMAND = """
import sys
from pathlib import Path
from hopmeter.cli.parts.meeting_options import meeting_point_of
from hopmeter.hosts.agent.agent import serve
from hopmeter.interactive.meeting import answer_meeting, end_command, listen_for_peers
from hopmeter.runtime.signals import Alarm

folder, meet, secret = sys.argv[1:]
point = meeting_point_of("pair", "study", Path(folder), meet or None, None, Path(secret) if secret else None)

class Command:
    code = None
    def meet(self, ask):
        return answer_meeting(point, ask, {"said": ask["word"]})
    def note(self, ask):
        self.code = ask["code"]
        return {}
    def store_samples(self, trial):
        pass

def conduct(channel):
    command = Command()
    with Alarm():
        serve(channel, command)
        if command.code is not None:
            end_command(command.code)

with listen_for_peers(point, conduct, print) as peers:
    print("open", flush=True)
    sys.exit(peers.admit(60))
"""


@contextmanager
def listening(folder: Path, meet: str = "", secret: str = "") -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", COMMAND, str(folder), meet, secret]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        wait_for(lambda: process.stdout and process.stdout.readline() == "open\n")
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def free_address() -> Iterator[str]:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    yield f"127.0.0.1:{port}"


def meet(point: MeetingPoint, code: int | None = None) -> object:
    """Connect a command to its peer at the meeting point; if `code` is given, the command must exit with that code."""
    with Alarm() as alarm, connect_to_peer(point, "far", {"word": "hello"}, 20, alarm) as peer:
        session = join_hosts({"far": peer}, "here")
        assert session.facts()["here"].is_here and not session.facts()["far"].is_here
        if code is not None:
            peer.note(code=code)
        return peer.offer["said"]


def test_a_command_in_a_folder_is_found_by_its_name_and_leaves_nothing(tmp_path: Path) -> None:
    point = meeting_point_of("pair", "study", tmp_path, None, None)
    with listening(tmp_path) as process:
        assert meet(point) == "hello"
        assert meet(point, code=3) == "hello"
        assert process.wait(20) == 3
    assert list(tmp_path.iterdir()) == []
    with (
        Alarm() as alarm,
        refuses(PeerMissingError, "E-PEER-MISSING study"),
        connect_to_peer(point, "far", {}, 0, alarm),
    ):
        pass


def test_a_killed_command_is_removed_by_the_next_command(tmp_path: Path) -> None:
    with listening(tmp_path) as process:
        process.kill()
    (record,) = tmp_path.glob("*.json")
    with listening(tmp_path) as process:
        assert meet(meeting_point_of("pair", "study", tmp_path, None, None), code=0) == "hello"
        assert process.wait(20) == 0
    assert not record.exists()


def test_at_an_address_only_the_right_name_and_the_secret_are_let_in(tmp_path: Path) -> None:
    secret, other = tmp_path / "secret", tmp_path / "other"
    make_secret(secret), make_secret(other)
    with free_address() as at, listening(tmp_path, at, str(secret)) as process:
        for file in (None, other):
            with refuses(HostError, "E-HOST-SECRET --secret-file"):
                meet(meeting_point_of("pair", "study", None, at, None, file))
        with refuses(HostError, "E-PEER-OTHER hopmeter publish"):
            meet(meeting_point_of("server", "study", None, at, None, secret))
        assert meet(meeting_point_of("pair", "study", None, at, None, secret), code=4) == "hello"
        assert process.wait(20) == 4


@pytest.mark.parametrize(
    ("meeting", "host", "expected"),
    [
        ("7701", None, "E-MEET-ADDRESS 7701"),
        (":7701", None, "E-MEET-ADDRESS"),
        ("127.0.0.1:0", None, "E-MEET-ADDRESS"),
        ("127.0.0.1:70000", None, "E-MEET-ADDRESS"),
        ("unix:/tmp/socket", None, "E-MEET-ADDRESS"),
        ("10.77.0.1:7701", None, "E-AGENT-EXPOSED --secret-file --cert"),
        (None, "127.0.0.1", "E-OPTION-CONFLICT --host --meet"),
    ],
)
def test_a_place_that_cannot_be_one_is_refused(meeting: str | None, host: str | None, expected: str) -> None:
    with refuses(UsageError, expected):
        meeting_point_of("pair", "study", None, meeting, host)


@pytest.mark.parametrize(
    ("at", "host", "expected"),
    [
        ("127.0.0.1:7701", "192.0.2.1", "E-HOST-ADDRESS 192.0.2.1"),
        ("0.0.0.0:7701", None, "E-HOST-NEEDED --host"),
    ],
)
def test_nodes_need_an_address_of_this_machine(tmp_path: Path, at: str, host: str | None, expected: str) -> None:
    make_secret(tmp_path / "secret")
    with refuses(UsageError, expected):
        meeting_point_of("pair", "study", None, at, host, tmp_path / "secret").own_address()
