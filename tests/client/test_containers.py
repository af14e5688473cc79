"""Tests for two programs that share the rendezvous folder, but run in different containers or on different hosts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hopmeter
from hopmeter.client import ConnectError
from hopmeter.client.rendezvous import Rendezvous
from tests import containers

PEER = Path(__file__).with_name("peer.py")
SWEEP = [
    sys.executable,
    "-c",
    "import sys; from hopmeter.client.rendezvous import Rendezvous; Rendezvous(sys.argv[1], 'unix').sweep()",
]


@contextmanager
def server(folder: Path, before: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """Run a program that serves "add"; unless the program is killed, it closes everything that it opened."""
    command = [*before, sys.executable, str(PEER), "serve", "unix", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.communicate(timeout=30)


def directory_of(folder: Path) -> Path:
    (path,) = folder.glob("*.json")
    return Path(json.loads(path.read_text())["directory"])


@pytest.mark.parametrize("namespace", [containers.PIDS, containers.CLOCK], ids=["pids", "clock"])
def test_an_end_is_reached_from_another_container_and_survives_its_sweep(
    tmp_path: Path, namespace: tuple[str, ...]
) -> None:
    before = containers.inside(namespace)
    with server(tmp_path, before), hopmeter.connect("unix", folder=tmp_path) as house:
        assert house.client("add").call("one", timeout_s=30) == {"got": "one"}
    with server(tmp_path / "here"), hopmeter.connect("unix", folder=tmp_path / "here") as house:
        subprocess.run([*before, *SWEEP, str(tmp_path / "here")], check=True)
        assert house.client("add").call("two", timeout_s=30) == {"got": "two"}


def test_an_end_that_was_killed_in_another_container_is_removed(tmp_path: Path) -> None:
    with server(tmp_path, containers.inside(containers.PIDS)) as process:
        directory = directory_of(tmp_path)
        process.kill()
        process.wait()
        with pytest.raises(ConnectError, match="E-PEER-MISSING"), hopmeter.connect("unix", folder=tmp_path) as house:
            house.client("add", within_s=5)
    assert not directory.exists()
    assert list(tmp_path.iterdir()) == []


def test_an_end_of_another_host_stays_and_its_name_is_taken(tmp_path: Path) -> None:
    with server(tmp_path, containers.inside(containers.OTHER_HOST)) as process:
        directory = directory_of(tmp_path)
        process.kill()
        process.wait()
    meeting = Rendezvous(tmp_path, "unix")
    meeting.sweep()
    try:
        with pytest.raises(ConnectError, match=r"unix by process \d+ on host elsewhere.*E-NAME-TAKEN") as taken:
            meeting.claim("add", "rpc", 64, {}, ())
        (path,) = tmp_path.glob("*.json")
        assert str(path) in taken.value.remedy
        assert directory.is_dir()
    finally:
        subprocess.run([*containers.inside(containers.OTHER_HOST), *SWEEP, str(tmp_path)], check=True)
    assert not directory.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_record_in_the_former_format_is_not_removed_for_its_process_may_run_in_a_container(tmp_path: Path) -> None:
    link = tmp_path / "hm-link-former"
    link.mkdir()
    fields = {"pid": 2**22 + 1, "started": 1, "run": "0123456789abcdef", "directory": str(link), "frame_bytes": 64}
    record = {**fields, "settings": {}, "leftovers": [], "address": "somewhere"}
    (tmp_path / "unix.add.rpc.json").write_text(json.dumps(record))
    Rendezvous(tmp_path, "unix").sweep()
    assert link.is_dir()
    assert (tmp_path / "unix.add.rpc.json").exists()
