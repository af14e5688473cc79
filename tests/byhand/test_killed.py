"""What a command with a folder of its own (`--meet`) leaves when it is killed, and who removes it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hopmeter.byhand import network
from hopmeter.byhand.where import Where
from tests import containers

HOLDS = """
import sys
from pathlib import Path
from hopmeter.byhand import network
from hopmeter.byhand.where import Where
from hopmeter.client.rendezvous import Rendezvous
with Where(Path(sys.argv[1]), network.Endpoint("127.0.0.1", 1)).bound() as here:
    meeting = Rendezvous(here.folder, "tcp")
    link = meeting.claim("camera", "pubsub", 64, {}, ())
    print(here.folder, link.directory, flush=True)
    sys.stdin.read()
    meeting.retract("camera", "pubsub", link)
"""


@contextmanager
def command(folder: Path, *before: str) -> Iterator[tuple[subprocess.Popen[str], list[Path]]]:
    """A command that has a folder of its own, with a link in it, and both folders; it ends well unless killed."""
    words = [*before, sys.executable, "-c", HOLDS, str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, [Path(word) for word in process.stdout.readline().split()]
        finally:
            process.communicate(timeout=30)


def where(folder: Path) -> Where:
    return Where(folder, network.Endpoint("127.0.0.1", 1))


def test_what_a_killed_command_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    with command(tmp_path) as (process, left):
        assert [path.is_dir() for path in left] == [True, True]
        process.kill()
    with where(tmp_path).bound() as here:
        assert here.host == "127.0.0.1"
        assert [path.exists() for path in left] == [False, False]
        assert here.folder.is_dir()
    assert not here.folder.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("namespace", [containers.PIDS, containers.CLOCK], ids=["pids", "clock"])
def test_what_a_live_command_has_is_not_removed_by_one_in_another_container(
    tmp_path: Path, namespace: tuple[str, ...]
) -> None:
    with where(tmp_path).bound() as here, command(tmp_path, *containers.inside(namespace)) as (_, theirs):
        assert here.folder.is_dir()
        with where(tmp_path).bound():
            assert [path.is_dir() for path in theirs] == [True, True]
