"""Tests for a participant with two processes: one is killed, the run is stopped, and strangers connect to its
bridge."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from tests.coded import lacking
from tests.failure.running import Traces, measuring, nodes_of, spec_of, wait_for_end
from tests.waiting import wait_for, wait_for_trial

pytestmark = pytest.mark.slow

SCENARIO = """
title = "Failing"
question = "What is left of a gateway that ends early?"
transport = "unix"
language = "rust"
wait = "block"
cores = "free"
duration = "1500ms"
[participant]
camera = {}
gateway = {}
motor = {}
[flow]
frames = { from = "camera", to = "gateway", rate = 100, payload = "bytes:20000", transport = "synthetic" }
orders = { from = "gateway", to = "motor", after = "frames" }
[path]
reaction = { flows = ["frames", "orders"], deadline = "1s" }
"""
CAMERA, NEAR, FAR, MOTOR = range(4)
"""The node numbers. The participant `gateway` receives in one node and sends in another."""
REQUEST = b"HOPM-SHM" + struct.pack("<II", 1, 0)
"""The beginning of a consumer's request to a ring; the link name comes next."""


def nodes_in_order(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the nodes in numerical order, each with the threads of its endpoints."""
    nodes = nodes_of(psutil.Process(process.pid), 4)
    wait_for(lambda: all(node.num_threads() > len(spec_of(node)["endpoints"]) for node in nodes))
    return sorted(nodes, key=lambda node: int(spec_of(node)["node"]))


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    rows = pq.read_table(folder / "run/cells.parquet").to_pylist()
    return {row["flow"] or row["path"]: row for row in rows}


@pytest.mark.parametrize(("number", "transport"), [(NEAR, "synthetic"), (FAR, "unix")])
def test_a_killed_process_of_a_gateway_fails_its_trial_and_leaves_nothing(
    tmp_path: Path, number: int, transport: str
) -> None:
    with measuring(tmp_path, SCENARIO, "--trials", "2") as process:
        nodes = nodes_in_order(process)
        left = Traces(nodes)
        nodes[number].kill()
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    wait_for_end(nodes)
    assert left.paths() == []
    rows = rows_of(tmp_path)
    assert lacking(rows[""]["reason"], f"W-TRIALS-FAILED 1 of 2 node {number} ({transport} SIGKILL") == []
    assert {name: (row["trials_good"], row["lost"]) for name, row in rows.items()} == dict.fromkeys(rows, (1, 0))
    assert rows["frames>orders"]["received"] == 150, "what the good trial measured stays"


def test_ctrl_c_leaves_nothing_of_a_bridge(tmp_path: Path) -> None:
    with measuring(tmp_path, SCENARIO, "--trials", "3") as process:
        wait_for_trial(tmp_path / ".run.partial")
        nodes = nodes_in_order(process)
        left = Traces(nodes)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    wait_for_end(nodes)
    assert left.paths() == []


def rings_of(node: psutil.Process) -> list[bytes]:
    """Return the ring addresses of a node: listening sockets without a file."""
    links = [str(each.readlink()) for each in Path(f"/proc/{node.pid}/fd").iterdir()]
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    listening = {f"socket:[{words[6]}]": words[7] for words in lines if len(words) > 7 and words[3] == "00010000"}
    return [b"\0" + listening[link].removeprefix("@").encode() for link in links if link in listening]


def ask_for_memory(address: bytes, request: bytes) -> tuple[bytes, list[int]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.settimeout(10)
        stranger.connect(address)
        stranger.send(request)
        answer, files, _, _ = socket.recv_fds(stranger, 512, 4)
        return answer, files


def test_strangers_and_readers_of_another_run_get_nothing_from_a_bridge(tmp_path: Path) -> None:
    with measuring(tmp_path, SCENARIO, "--trials", "1") as process:
        nodes = nodes_in_order(process)
        (ring,) = wait_for(lambda: rings_of(nodes[NEAR]))
        for request in (b"", b"HELLO", REQUEST + b"0123456789abcdef_f2_l0"):
            answer, files = ask_for_memory(ring, request)
            assert files == [], "no memory"
            assert answer == b"" or b"_f2_l0, not" in answer or b"foreign" in answer or b"hopmeter" in answer
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    rows = rows_of(tmp_path)
    assert (rows[""]["trials_good"], rows["frames>orders"]["received"], rows["frames>orders"]["foreign"]) == (1, 150, 0)
