"""Files that a transport opens under its own names are removed together with the record of a killed program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hopmeter.client.rendezvous import Rendezvous

PATTERN = "/dev/shm/hmbus_*"
ADAPTER = """
import os, secrets
from pathlib import Path

class Transport:
    def __init__(self, setup):
        pass
    def publisher(self, link):
        return End()

class End:
    address = ""
    def __init__(self):
        self._file = Path(f"/dev/shm/hmbus_{secrets.token_hex(8)}").open("x")
    def close(self):
        os.unlink(self._file.name)
        self._file.close()
"""
PROGRAM = """
import pathlib, sys, hopmeter
from hopmeter.system import paths
paths.transport_folders = lambda: [pathlib.Path(sys.argv[2])]
house = hopmeter.connect("bus", folder=sys.argv[1])
house.publisher("camera")
print("open", flush=True)
sys.stdin.read()
house.close()
"""


@pytest.fixture
def transports(tmp_path: Path) -> Path:
    bus = tmp_path / "transports/bus"
    (bus / "python").mkdir(parents=True)
    (bus / "python/adapter.py").write_text(ADAPTER)
    (bus / "transport.toml").write_text(
        'name = "bus"\ntitle = "Bus"\nsummary = "A bus."\nplacements = ["process"]\npatterns = ["pubsub"]\n'
        'send = "blocking"\nmax_payload_bytes = 1000000\n'
        f'[open_leftovers]\n"{PATTERN}" = []\n[languages.python]\nwaits = ["block"]\nlibrary = "none"\n'
    )
    return tmp_path / "transports"


@pytest.mark.parametrize("killed", [True, False])
def test_the_files_of_a_program_are_removed_by_the_next(tmp_path: Path, transports: Path, killed: bool) -> None:
    folder = tmp_path / "links"
    command = [sys.executable, "-c", PROGRAM, str(folder), str(transports)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        (record,) = [json.loads(path.read_text()) for path in folder.glob("*.json")]
        (noted,) = json.loads((Path(record["directory"]) / f"open-files-{process.pid}.json").read_text())
        Rendezvous(folder, "bus").sweep()
        assert Path(noted["path"]).exists()
        if killed:
            process.kill()
        process.communicate(timeout=30)
    Rendezvous(folder, "bus").sweep()
    assert not Path(noted["path"]).exists()
    assert not Path(record["directory"]).exists()
