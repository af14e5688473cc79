"""Tests for container hosts. A fake container engine runs the agent on this machine and records its arguments."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.container_agent import run_command
from hopmeter.hosts.coordinator.hosts_file import HostEntry, read_hosts
from tests.coded import lacking, refuses
from tests.command import environment_in, hopmeter
from tests.hosts.test_ssh import SCENARIO

ENGINE = """#!{python}
import json, os, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(words) + "\\n")
if words[0] == "run":
    command = [{python!r}, "-m", *words[words.index("hopmeter") :]]
    os.execv(command[0], command)
if words[0] == "inspect":
    print("127.0.0.1")
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found, log = tmp_path / "bin" / "docker", tmp_path / "calls"
    found.parent.mkdir()
    found.write_text(ENGINE.format(python=sys.executable, log=str(log)))
    found.chmod(0o755)
    monkeypatch.setenv("PATH", f"{found.parent}{os.pathsep}{os.environ['PATH']}")
    return log


def test_a_container_has_the_network_and_the_memory_that_are_named() -> None:
    entry = HostEntry(container="hopmeter:1", engine="podman", options=["--cpus", "2"])
    words = run_command("podman", "hopmeter-a-1", entry, Path("/s"))
    first = ["podman", "run", "--rm", "--interactive", "--pull", "never", "--name", "hopmeter-a-1"]
    assert words[:8] == first
    assert words[8:] == [
        *("--network", "bridge", "--ipc", "private", "--cpus", "2", "hopmeter:1"),
        *("hopmeter", "agent", "--stdio"),
    ]
    shares = HostEntry(container="hopmeter:1", network="host", shared_memory=True)
    words = run_command("docker", "hopmeter-a-1", shares, Path("/s"))
    memory = ["--ipc", "host", "--pid", "host", "--volume", "/s:/s", "--env", "XDG_RUNTIME_DIR=/s"]
    assert words[8:-4] == ["--network", "host", *memory]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('container = "i"\nhere = true', "E-HOST-ENTRY container"),
        ('ssh = "jetson"\nnetwork = "host"', "E-HOST-ENTRY network container"),
        ('container = "--privileged"', "E-VALUE-FORM :2: container"),
        ('container = "i"\nengine = "lxc"', "E-VALUE-CHOICE :3: engine lxc"),
    ],
)
def test_an_entry_of_a_container_is_checked(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "hosts.toml").write_text(f"[host.far]\n{text}\n")
    with refuses(UsageError, says):
        read_hosts(tmp_path / "hosts.toml")


@pytest.mark.slow
def test_the_engine_starts_the_agent_and_removes_this_container(tmp_path: Path, calls: Path) -> None:
    (tmp_path / "hosts.toml").write_text('[host.here]\nhere = true\n[host.far]\ncontainer = "hopmeter:1"\n')
    (tmp_path / "box.toml").write_text(SCENARIO)
    words = ("run", "box.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report")
    done = hopmeter(*words, cwd=tmp_path, env=environment_in(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    (row,) = [each for each in rows if each["flow"] == "frames"]
    assert row["received"] == 30 and row["service_min_us"] >= 3000
    started, inspected, removed = map(json.loads, calls.read_text().splitlines())
    name = started[started.index("--name") + 1]
    assert name.startswith("hopmeter-far-") and inspected[-1] == name and removed == ["rm", "--force", name]


@pytest.mark.slow
def test_a_missing_engine_and_one_that_does_not_run_are_named(tmp_path: Path, calls: Path) -> None:
    text = '[host.off]\ncontainer = "i"\nengine = "podman"\n[host.ill]\ncontainer = "i"\nengine = "docker"\n'
    (tmp_path / "hosts.toml").write_text(text)
    refusal = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    (calls.parent / "bin/docker").write_text(f'#!/bin/sh\necho "{refusal}" >&2\nexit 125\n')
    environment = environment_in(tmp_path) | {"PATH": str(calls.parent / "bin")}
    done = hopmeter("hosts", "--hosts", "hosts.toml", "--json", cwd=tmp_path, env=environment)
    rows = {row["host"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert rows["off"]["code"] == "E-CONTAINER-ENGINE" and "podman is not installed" in rows["off"]["error"]
    assert rows["ill"]["code"] == "E-HOST-UNREACHABLE" and "does not run" in rows["ill"]["error"]


def test_without_an_engine_the_error_names_both(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text('[host.far]\ncontainer = "hopmeter:1"\n')
    environment = environment_in(tmp_path) | {"PATH": str(tmp_path)}
    done = hopmeter("run", "quick", "--hosts", "hosts.toml", cwd=tmp_path, env=environment)
    assert done.returncode == 2
    assert lacking(done.stderr, "E-CONTAINER-ENGINE far docker podman") == [], done.stderr
    assert shutil.which("docker", path=str(tmp_path)) is None
