"""Tests for `hopmeter run --hosts` on two hosts that are agents on this machine, including failures."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from hopmeter.manifest import every, readiness
from hopmeter.store.clock_file import read_clocks
from tests.coded import lacking
from tests.command import command, environment_in
from tests.waiting import wait_for, wait_for_trial

pytestmark = pytest.mark.slow

DELAY_US = 3000
AHEAD_S = 3600
WORKLOAD = f"""
title = "Two hosts"
question = "Is a planned delay between hosts found?"
transport = ["synthetic", "zeromq", "tcp"]
language = "python"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
settings.synthetic.delay_us = {DELAY_US}
participant.camera.host = "one"
participant.detector.host = "two"
participant.motor.host = "one"
flow.frames = {{ from = "camera", to = "detector", rate = 100, payload = "bytes:1000" }}
flow.orders = {{ from = "detector", to = "motor", after = "frames", payload = "bytes:64" }}
path.reaction.flows = ["frames", "orders"]
"""
FILES = """
title = "Files"
question = "Do files reach their hosts?"
transport = [{transports}]
language = "python"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
participant.camera.host = "one"
participant.motor.host = "two"
flow.blob = {{ from = "camera", to = "motor", rate = 50, payload = "file:{folder}/blob" }}
flow.array = {{ from = "camera", to = "motor", rate = 50, payload = "array:20x10", codec = "numpy" }}
background.cpu = "10%"
"""
SEARCH = """
title = "Search"
question = "Which rate reaches another host?"
transport = "tcp"
language = "python"
wait = "block"
cores = "free"
duration = "300ms"
trials = 1
[search]
bound_p99 = "2s"
start = 50
highest = 100
"""
Run = Callable[..., subprocess.Popen[str]]


def agent(*words: str) -> str:
    return json.dumps([*words, *command("agent", "--stdio")])


@pytest.fixture
def start(tmp_path: Path) -> Run:
    """Start `hopmeter` with these arguments in the folder of the test."""

    def call(*words: str) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        how = {"cwd": tmp_path, "env": environment_in(tmp_path), "start_new_session": True}
        return subprocess.Popen(command(*words), **how, **pipes)

    return call


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "hosts.toml").write_text(f"[host.one]\nagent = {agent()}\n[host.two]\nagent = {agent()}\n")
    path = tmp_path / "two.toml"
    path.write_text(WORKLOAD)
    return path


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> object:
    yield
    wait_for(lambda: not [each for each in processes(tmp_path) if each.status() != psutil.STATUS_ZOMBIE])
    assert not list(tmp_path.glob("hm-*"))


def processes(folder: Path, *words: str) -> list[psutil.Process]:
    """Return the test's processes whose command line contains all these words."""
    found = []
    for each in psutil.process_iter(["cmdline", "environ"]):
        ours = (each.info["environ"] or {}).get("XDG_RUNTIME_DIR") == str(folder)
        if ours and set(words) <= set(each.info["cmdline"] or []):
            found.append(each)
    return found


def read(run: Path, table: str) -> list[dict[str, Any]]:
    return list(pq.read_table(run / f"{table}.parquet").to_pylist())


def test_planned_delays_between_two_hosts_are_found(tmp_path: Path, scenario: Path, start: Run) -> None:
    words = ("--hosts", "hosts.toml", "--out", "run", "--sample-cpu", "--no-report")
    done = start("run", scenario.name, *words)
    printed = done.communicate()
    assert done.returncode == 0, printed
    run = tmp_path / "run"
    rows = {(row["transport"], row["flow"] or row["path"]): row for row in read(run, "cells")}
    assert {row["hosts"] for row in rows.values()} == {"camera:one detector:two motor:one"}
    hop = rows["synthetic", "frames"]
    assert hop["service_min_us"] >= DELAY_US and rows["synthetic", "orders"]["service_min_us"] >= DELAY_US
    for name in ("zeromq", "tcp"):
        assert 0 < rows[name, "frames"]["service_min_us"] < DELAY_US
        assert rows[name, "frames"]["received"] == 50 and rows[name, "frames"]["lost"] == 0
    hosts = {(row["participant"], row["host"]) for row in read(run, "processes")}
    assert hosts == {("camera", "one"), ("detector", "two"), ("motor", "one")}
    about = json.loads((run / "run.json").read_text())
    assert list(about["hosts"]) == ["one", "two"] and about["hosts"]["one"]["machine"]
    assert {each["subject"] for each in about["hosts"]["one"]["doctor"]} >= {"load", "governor"}
    assert {row["role"] for path in (run / "cpu").iterdir() for row in pq.read_table(path).to_pylist()} >= {"launcher"}


def test_a_host_far_away_is_measured(tmp_path: Path, scenario: Path, start: Run) -> None:
    """Each line between coordinator and agent takes 100 ms, in both directions."""
    slow = (sys.executable, "-m", "tests.hosts.slow_line", "0.1")
    (tmp_path / "hosts.toml").write_text(f"[host.one]\nhere = true\n[host.two]\nagent = {agent(*slow)}\n")
    scenario.write_text(WORKLOAD.replace('["synthetic", "zeromq", "tcp"]', '"tcp"'))
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run", "--no-report")
    printed = done.communicate()
    assert done.returncode == 0, printed
    row = next(each for each in read(tmp_path / "run", "cells") if each["flow"] == "frames")
    assert row["received"] == 50 and row["lost"] == 0
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert about["hosts"]["two"]["round_trip_us"] >= 200_000


def test_a_host_that_dies_fails_its_trials_with_the_reason(tmp_path: Path, scenario: Path, start: Run) -> None:
    scenario.write_text(
        WORKLOAD.replace('["synthetic", "zeromq", "tcp"]', '"tcp"').replace("trials = 1", "trials = 20")
    )
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run", "--no-report")
    wait_for_trial(tmp_path / ".run.partial")
    agents = processes(tmp_path, "agent")
    agents[-1].send_signal(signal.SIGKILL)
    out, error = done.communicate()
    reasons = [row["reason"] for row in read(tmp_path / "run", "trials") if not row["good"]]
    assert len(reasons) > 5, (out, error)
    assert any(lacking(each, "E-HOST-GONE signal 9") == [] for each in reasons), reasons
    assert any(row["good"] for row in read(tmp_path / "run", "trials"))


def test_ctrl_c_ends_the_nodes_of_all_hosts(tmp_path: Path, scenario: Path, start: Run) -> None:
    scenario.write_text(WORKLOAD.replace("trials = 1", "trials = 50"))
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run", "--no-report")
    wait_for_trial(tmp_path / ".run.partial")
    assert len(processes(tmp_path, "agent")) == 2
    done.send_signal(signal.SIGINT)
    out, error = done.communicate()
    assert "--hosts hosts.toml" in out + error
    assert done.returncode == 130 and read(tmp_path / ".run.partial", "trials")


def test_what_hosts_cannot_do_is_refused_before_a_run(tmp_path: Path, scenario: Path, start: Run) -> None:
    mute = '[host.one]\nagent = ["cat"]\n[host.two]\nhere = true\n[host.three]\nagent = ["no-such-agent"]\n'
    (tmp_path / "mute.toml").write_text(mute)
    silent = '[host.one]\nagent = ["cat"]\n[host.two]\nlistens = "127.0.0.1:1"\n[host.three]\nagent = ["true"]\n'
    (tmp_path / "silent.toml").write_text(silent)
    (tmp_path / "deaf.toml").write_text(silent.replace('listens = "127.0.0.1:1"', "here = true"))
    (tmp_path / "here.toml").write_text("[host.one]\nhere = true\n")
    for words, says in (
        ((), "E-HOST-UNKNOWN participant.camera.host --hosts"),
        (("--hosts", "here.toml"), "E-HOST-UNKNOWN participant.detector.host two"),
        (("--hosts", "mute.toml"), "E-HOST-UNREACHABLE three no-such-agent"),
        (("--hosts", "silent.toml"), "E-HOST-UNREACHABLE two 127.0.0.1:1"),
        (("--hosts", "deaf.toml"), "E-HOST-UNREACHABLE one three"),
        (("--hosts", "hosts.toml", "--against", "set:hwm=1"), "E-HOST-CONFLICT --against"),
    ):
        done = start("run", scenario.name, *words)
        _, error = done.communicate()
        assert done.returncode == 2 and lacking(error, says) == [], error


def test_a_chain_is_placed_over_the_hosts_one_by_one(tmp_path: Path, scenario: Path, start: Run) -> None:
    (tmp_path / "hosts.toml").write_text(f"[host.one]\nhere = true\n[host.two]\nagent = {agent()}\n")
    words = (
        "--transport",
        "synthetic",
        "--language",
        "python",
        "--payload",
        "timing",
        "--relays",
        "2",
        "--rate",
        "200",
        "--messages",
        "50",
    )
    options = ("--trials", "1", "--cores", "free", "--wait", "block", "--set", f"synthetic.delay_us={DELAY_US}")
    more = ("--hosts", "hosts.toml", "--out", "run", "--no-report")
    done = start("run", "quick", *words, *options, *more)
    assert done.wait() == 0, done.communicate()
    done.communicate()
    (row,) = read(tmp_path / "run", "cells")
    assert row["hosts"] == "one>two" and row["service_min_us"] >= 3 * DELAY_US
    found = [(each["name"], each["host"]) for each in read(tmp_path / "run", "processes")]
    assert found == [("source", "one"), ("relay 1", "two"), ("relay 2", "one"), ("sink", "two")]


def test_files_codecs_brokers_and_the_background_load_reach_the_hosts(
    tmp_path: Path, scenario: Path, start: Run
) -> None:
    """The broker runs on the host of the first node; files are sent by content."""
    (tmp_path / "blob").write_bytes(bytes(range(256)) * 20)
    has_redis = readiness(every()["redis"], "python").ready
    scenario.write_text(FILES.format(transports='"tcp", "redis"' if has_redis else '"tcp"', folder=tmp_path))
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run", "--no-report")
    printed = done.communicate()
    assert done.returncode == 0, printed
    rows = [row for row in read(tmp_path / "run", "cells") if row["flow"]]
    assert len(rows) == (4 if has_redis else 2)
    assert all(row["received"] == 25 and row["lost"] == 0 for row in rows), rows
    assert {row["payload_bytes"] for row in rows if row["flow"] == "blob"} == {5120}
    assert all(row["background_cpu_percent"] > 0 for row in read(tmp_path / "run", "trials"))
    brokers = [row for row in read(tmp_path / "run", "processes") if row["roles"] == "broker"]
    assert [row["host"] for row in brokers] == ["one"] * has_redis
    resumed = start("run", "--resume", "run")
    _, error = resumed.communicate()
    assert resumed.returncode == 2 and lacking(error, "E-RUN-HOSTS one, two") == []


def test_hosts_whose_clocks_are_an_hour_apart_measure_calls(tmp_path: Path, scenario: Path, start: Run) -> None:
    ahead = ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(AHEAD_S)]
    if subprocess.run([*ahead, "true"], capture_output=True, check=False).returncode:
        pytest.skip("time namespaces are forbidden here")
    (tmp_path / "hosts.toml").write_text(f"[host.one]\nagent = {agent()}\n[host.two]\nagent = {agent(*ahead)}\n")
    calls = "".join(
        line for line in WORKLOAD.splitlines(True) if not line.startswith(("flow", "path", "participant.m"))
    )
    flow = 'flow.ask = { from = "camera", call = "detector", rate = 100, payload = "bytes:64" }\n'
    scenario.write_text(calls.replace('["synthetic", "zeromq", "tcp"]', '"tcp"') + flow)
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run", "--no-report")
    printed = done.communicate()
    assert done.returncode == 0, printed
    (row,) = [each for each in read(tmp_path / "run", "cells") if each["flow"] == "ask"]
    assert row["received"] == 50 and row["lost"] == 0 and 0 < row["service_min_us"] < 1e6
    batches, states = read_clocks(tmp_path / "run")
    assert len(batches) >= 2 and {each.host for each in states} == {"one", "two"}
    for each in batches:
        assert abs(each.least.offset_ns - AHEAD_S * 10**9) <= each.least.bound_ns


def test_a_search_for_the_highest_rate_goes_on_over_hosts(tmp_path: Path, scenario: Path, start: Run) -> None:
    scenario.write_text(SEARCH)
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run", "--no-report")
    printed = done.communicate()
    assert done.returncode == 0, printed
    rows = read(tmp_path / "run", "cells")
    assert [row["rate_hz"] for row in rows] == [50, 100] and {row["hosts"] for row in rows} == {"one>two"}
    assert {row["highest_rate_hz"] for row in rows} == {100}
