"""A transport that is not built, lacks a library or misbehaves is reported with its specific reason; all other
transports are measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hopmeter.messages import split_code
from hopmeter.system import paths
from tests.coded import lacking

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCENARIO = """
title = "Misbehaviour"
question = "Is each told apart?"
language = "python"
cores = "free"
payload = "bytes:100"
rate = 200
messages = 50
warmup = 5
trials = 1
drain = "100ms"
retry = "100ms"
timeout = "10s"

[[case]]
transport = "unruly"
[case.settings.unruly]
breaks = ["nothing", "raises", "crashes", "hangs", "prints", "mutters", "babbles", "cuts", "scribbles", "lingers"]
[[case]]
transport = "lacking"
[[case]]
transport = "zeromq"
language = "c++"
[[case]]
transport = "zenoh"
language = "rust"
[[case]]
transport = "unix"
language = "rust"
wait = ["block", "callback"]
[[case]]
transport = "unix"
language = "rust"
pace = "closed"
[[case]]
transport = "unix"
language = "rust"
payload = "image:99999x99999"
"""
Row = dict[str, Any]


@dataclass(frozen=True)
class Told:
    code: int
    errors: str
    rows: list[Row]
    folder: Path

    def unruly(self, breaks: str) -> Row:
        profile = "" if breaks == "nothing" else f"breaks={breaks}"
        return next(row for row in self.rows if row["transport"] == "unruly" and (row["profile"] or "") == profile)

    def of(self, transport: str) -> list[Row]:
        return [row for row in self.rows if row["transport"] == transport and row["ranked"]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("misbehaviour")
    environment = installed_environment(folder)
    (folder / "misbehaviour.toml").write_text(SCENARIO)
    command = [sys.executable, "-m", "hopmeter", "run", "misbehaviour.toml", "--json", "--no-report", "--out", "run"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, timeout=200, check=False
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows, done.stderr
    return Told(done.returncode, done.stderr, rows, folder / "run")


def installed_environment(folder: Path) -> dict[str, str]:
    """Return the environment of an installed hopmeter without a checkout, with the user's own transports."""
    ignored = shutil.ignore_patterns("__pycache__", "_data")
    shutil.copytree(ROOT / "hopmeter", folder / "site/hopmeter", ignore=ignored)
    home = folder / "home"
    shutil.copytree(Path(__file__).with_name("transports"), home / "transports", ignore=ignored)
    for name in ("_streams", "unix", "shm", "zeromq", "zenoh"):
        shutil.copytree(ROOT / "transports" / name, home / "transports" / name, ignore=ignored)
    shutil.copy(ROOT / "transports/unix/python/adapter.py", home / "transports/unruly/python/unix_sockets.py")
    nodes = home / "nodes"
    nodes.mkdir()
    for name in ("unix", "shm"):
        (nodes / paths.node_name(name, "rust")).symlink_to(found_node(name, "rust"))
    without_library(found_node("zeromq", "c++"), nodes)
    return {**os.environ, "PYTHONPATH": str(folder / "site"), "HOPMETER_HOME": str(home)}


def found_node(transport: str, language: str) -> Path:
    node = paths.node(transport, language)
    assert node, f"hopmeter build {transport}"
    return node


def without_library(node: Path, nodes: Path) -> None:
    """Run the program with a libzmq that the dynamic linker cannot find."""
    program = node.read_bytes()
    assert b"libzmq.so.5\0" in program
    broken = nodes / node.name
    broken.write_bytes(program.replace(b"libzmq.so.5\0", b"libzmq.so.X\0"))
    broken.chmod(0o755)


def test_some_cells_failed_is_exit_code_1_without_a_traceback(told: Told) -> None:
    assert told.code == 1
    assert "hopmeter/cli/main.py" not in told.errors, "an adapter's traceback is a cause; hopmeter's own is a bug"


@pytest.mark.parametrize(
    ("breaks", "what", "remedy"),
    [
        ("raises", "E-NODE-FAILED the library is out of luck", ""),
        ("crashes", "E-NODE-DIED SIGSEGV", ""),
        ("hangs", "E-NODE-SILENT measuring", ""),
        (
            "mutters",
            "E-NO-PROOF 10.0 s; node 0 (unruly python, source) no router",
            "logs/",
        ),
        ("babbles", "E-NODE-GARBAGE '", "hopmeter build"),
        ("cuts", "E-SAMPLES-DAMAGED head", "measure the trial again"),
        ("scribbles", "E-SAMPLES-DAMAGED header", "measure the trial again"),
        ("lingers", "E-NODE-STAYED 10 s `end`", "close all resources"),
    ],
)
def test_what_a_node_does_wrong_is_told_with_the_remedy(told: Told, breaks: str, what: str, remedy: str) -> None:
    row = told.unruly(breaks)
    assert (row["status"], row["trials_good"]) == ("failed", 0)
    assert lacking(row["reason"], what) == []
    assert row["reason_code"] == what.split()[0]
    assert "unruly python" in row["reason"] or "1.raw" in row["reason"], "which node, or which file"
    assert remedy in row["reason"]
    assert "(" in split_code(row["reason"])[0].removesuffix(")"), "the remedy stands behind what failed"
    assert row["response_p50_us"] is row["received"] is None


def test_the_others_are_measured_all_the_same(told: Told) -> None:
    for row in (told.unruly("nothing"), told.unruly("prints"), told.of("unix")[0]):
        assert (row["status"] == "failed", row["received"], row["lost"]) == (False, 50, 0), row["reason"]


def test_what_a_node_prints_is_in_its_log_and_never_understood(told: Told) -> None:
    logs = [log.read_text() for log in told.folder.rglob(f"logs/{told.unruly('prints')['cell']}-*.log")]
    assert any('"this is no message"' in log for log in logs)


def test_a_python_adapter_without_its_library_is_dropped_with_the_command_that_gets_it(told: Told) -> None:
    (row,) = told.of("lacking")
    assert row["status"] == "dropped"
    assert (
        lacking(row["reason"], "D-NOT-READY lacking (python) 'a_library_that_nobody_has' `hopmeter build lacking`")
        == []
    )


def test_a_node_without_its_shared_library_is_dropped_with_the_command_that_gets_it(told: Told) -> None:
    (row,) = told.of("zeromq")
    assert row["status"] == "dropped"
    assert lacking(row["reason"], "D-NOT-READY zeromq (c++) libzmq.so.X `hopmeter build zeromq`") == []


def test_a_transport_that_is_not_built_is_dropped_with_the_command_that_builds_it(told: Told) -> None:
    (row,) = told.of("zenoh")
    assert (row["status"], row["reason_code"]) == ("dropped", "D-NOT-BUILT")
    assert lacking(row["reason"], "D-NOT-BUILT zenoh (rust) `hopmeter build zenoh`") == []


def test_what_cannot_be_is_dropped_with_what_could(told: Told) -> None:
    _, callback, closed, huge = told.of("unix")
    assert {row["status"] for row in (callback, closed, huge)} == {"dropped"}
    assert lacking(callback["reason"], "D-NOT-OFFERED unix (rust) callback spin, block") == []
    assert lacking(closed["reason"], "D-RING --relays 1") == []
    assert lacking(huge["reason"], "D-TOO-LARGE unix (1073741824)") == []


def test_nothing_is_left(told: Told) -> None:
    assert not list((told.folder.parent / "home/cache/live").glob("*"))
