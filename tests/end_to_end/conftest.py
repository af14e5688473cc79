"""One run with every kind of cell, measured once for all tests in this folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests import command
from tests.command import Ran

Row = dict[str, Any]

MESSAGES = 60
SCENARIO = f"""
title = "Every shape"
question = "Does every pattern, pace, wait, touch and language come out as it went in?"
transport = "shm"
language = "rust"
cores = "free"
payload = "bytes:100"
rate = 500
messages = {MESSAGES}
warmup = 4
trials = 1
seed = 7
drain = "100ms"
"""
SERVERS = 'pattern = "scatter"\nsinks = 3\nwork = "sleep:60ms/20ms/30ms"\npace = "closed"\nmessages = 20'
# The blocking sink waits until the callback of the other sink has returned.
BOTH = """transport = "memory"
placement = "thread"
wait = "callback+block"
sinks = 2
work = "sleep:3ms/none"
rate = 100
"""
CALLED = 'transport = "memory"\nplacement = "thread"\nwait = "callback"'
CASES = {
    "chain": "relays = 2",
    "ring": 'pace = "closed"\nrelays = 1',
    "call": 'pattern = "rpc"\nrelays = 1',
    "native call": 'pattern = "rpc"\nrelays = 1\ntransport = "zeromq"\nlanguage = "c++"',
    "closed call": 'pattern = "rpc"\npace = "closed"\ntransport = "unix"',
    "scatter 30": 'pattern = "scatter"\nsinks = 3\nwork = "sleep:30ms"\nrate = 20\nmessages = 25',
    "scatter 40": 'pattern = "scatter"\nsinks = 3\nwork = "sleep:40ms"\nrate = 20\nmessages = 25',
    "servers at once": f"dispatch = 'parallel'\n{SERVERS}",
    "servers one by one": f"dispatch = 'sequential'\n{SERVERS}",
    "pairs": "pairs = 2",
    "fan-out": "sinks = 3",
    "open": 'transport = "unix"',
    "poisson": 'pace = "poisson"',
    "burst": 'pace = "burst"\nburst = 4',
    **{
        f"ramp, {language}": f'pace = "ramp"\nramp_to = 1000\ntransport = "unix"\nlanguage = "{language}"'
        for language in ("rust", "c++", "python")
    },
    "max": 'pace = "max"\ntransport = "unix"',
    "spin": 'wait = "spin"\ncores = "cross"',
    "callback": 'wait = "callback"',
    "both waits": 'wait = "callback+block"\nsinks = 2',
    "called in one": f"{CALLED}\nlanguage = 'rust'",
    "called in one, c++": f"{CALLED}\nlanguage = 'c++'",
    "called in one, python": "language = 'python'\nplacement = 'thread'\nwait = 'callback'",
    "both waits in one": f"{BOTH}\nlanguage = 'rust'",
    "both waits in one, c++": f"{BOTH}\nlanguage = 'c++'",
    "thread": 'transport = "memory"\nplacement = "thread"',
    "touch none": 'touch = "none"\npayload = "bytes:300000"',
    "touch write+read": 'touch = "write+read"\npayload = "bytes:300000"',
    "copy": 'relays = 1\nwork = "copy:1000"',
    "copy of the frame": 'relays = 1\nwork = "copy:frame:bytes:fresh"',
    "c++": 'transport = "unix"\nlanguage = "c++"',
    "rust>python": 'transport = "unix"\nlanguage = "rust>python"',
    "python>c++": 'transport = "tcp"\nlanguage = "python>c++"',
}


@dataclass(frozen=True)
class Measured:
    folder: Path
    rows: list[Row]
    by_name: dict[str, Row]

    def samples(self, name: str, *columns: str) -> list[Row]:
        path = self.folder / "samples" / f"{self.by_name[name]['cell']}-0.parquet"
        return list(pq.read_table(path, columns=list(columns) or None).to_pylist())


def hopmeter(folder: Path, *words: str) -> Ran:
    root = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "160"}
    return command.hopmeter(*words, cwd=folder, env=environment)


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("end-to-end")
    (folder / "shapes.toml").write_text(SCENARIO + "".join(f"[[case]]\n{case}\n" for case in CASES.values()))
    ran = hopmeter(folder, "run", "shapes.toml", "--json", "--out", "every-shape")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return Measured(folder / "every-shape", rows, dict(zip(CASES, rows, strict=False)))


@pytest.fixture
def run_in(tmp_path: Path) -> Callable[..., Ran]:
    return lambda *words: hopmeter(tmp_path, *words)
