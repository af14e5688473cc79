"""Tests for `hopmeter run --cluster` with workers of a real Dask cluster."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator import worker_agent
from hopmeter.hosts.coordinator.cluster import find_workers
from hopmeter.hosts.protocol.greeting import HostError
from tests.coded import lacking, refuses
from tests.command import command, environment_in
from tests.hosts.dask_cluster import Cluster, cluster
from tests.hosts.network import two_hosts
from tests.hosts.test_runs import DELAY_US, Run, nothing_is_left, processes, read, scenario, start
from tests.waiting import wait_for, wait_for_trial

pytestmark = pytest.mark.slow

__all__ = ["nothing_is_left", "scenario", "start"]

HOST = ("--resources", "agent=1")
OUT = ("--out", "run", "--no-report")
LOCAL = "tcp://127.0.0.1:1"


@pytest.fixture
def workers(tmp_path: Path, nothing_is_left: object) -> Iterator[Cluster]:
    """Start a cluster with the hosts `one` and `two`, and one worker that is not a host."""
    with cluster(tmp_path) as found:
        found.add("one", *HOST)
        found.add("two", *HOST)
        found.add("other")
        yield found
        wait_for(lambda: not [each for each in processes(tmp_path, "agent") if each.status() != psutil.STATUS_ZOMBIE])


def test_planned_delays_between_two_workers_are_found(
    tmp_path: Path, scenario: Path, start: Run, workers: Cluster
) -> None:
    scenario.write_text(scenario.read_text().replace('["synthetic", "zeromq", "tcp"]', '["synthetic", "tcp"]'))
    done = start("run", scenario.name, "--cluster", workers.address, *OUT)
    printed = done.communicate()
    assert done.returncode == 0, printed
    rows = {(row["transport"], row["flow"] or row["path"]): row for row in read(tmp_path / "run", "cells")}
    assert {row["hosts"] for row in rows.values()} == {"camera:one detector:two motor:one"}
    assert rows["synthetic", "frames"]["service_min_us"] >= DELAY_US
    assert 0 < rows["tcp", "frames"]["service_min_us"] < DELAY_US
    assert all(rows[name, "frames"]["received"] == 50 for name in ("synthetic", "tcp"))
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert list(about["hosts"]) == ["one", "two"] and about["hosts"]["two"]["machine"]
    listed = start("hosts", "--cluster", workers.address, "--json")
    out, error = listed.communicate()
    hosts = {row["host"]: row for row in map(json.loads, out.splitlines())}
    assert listed.returncode == 0 and list(hosts) == ["one", "two"], (out, error)
    assert "tcp (python)" in hosts["two"]["transports"] and hosts["two"]["address"] == "127.0.0.1"
    scenario.write_text(scenario.read_text().replace('detector.host = "two"', 'detector.host = "tow"'))
    wrong = start("run", scenario.name, "--cluster", workers.address)
    _, error = wrong.communicate()
    assert wrong.returncode == 2
    assert lacking(error, 'E-HOST-UNKNOWN participant.detector.host "tow" one, two --cluster') == [], error


def test_a_worker_that_dies_fails_its_trials_with_the_reason(
    tmp_path: Path, scenario: Path, start: Run, workers: Cluster
) -> None:
    scenario.write_text(
        scenario.read_text().replace('["synthetic", "zeromq", "tcp"]', '"tcp"').replace("trials = 1", "trials = 20")
    )
    done = start("run", scenario.name, "--cluster", workers.address, *OUT)
    wait_for_trial(tmp_path / ".run.partial")
    os.kill(workers.workers["two"].pid, signal.SIGKILL)
    out, error = done.communicate()
    trials = read(tmp_path / "run", "trials")
    reasons = [row["reason"] for row in trials if not row["good"]]
    assert len(reasons) > 5 and any(row["good"] for row in trials), (out, error)
    assert lacking(reasons[0], "E-HOST-GONE two worker") == []


def test_ctrl_c_ends_the_agents_of_all_workers(tmp_path: Path, scenario: Path, start: Run, workers: Cluster) -> None:
    scenario.write_text(scenario.read_text().replace("trials = 1", "trials = 50"))
    done = start("run", scenario.name, "--cluster", workers.address, *OUT)
    wait_for_trial(tmp_path / ".run.partial")
    assert len(processes(tmp_path, "agent")) == 2
    done.send_signal(signal.SIGINT)
    out, error = done.communicate()
    assert f"--cluster {workers.address}" in out + error and done.returncode == 130


def test_what_cannot_be_a_cluster_is_refused(tmp_path: Path, scenario: Path, start: Run) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    given = ("--cluster-ca", "ca.pem", "--cluster-cert", "ca.pem")
    cases = (
        (("--cluster", "tcp://10.77.0.9:8786"), "E-CLUSTER-TLS --cluster-ca --cluster-cert --cluster-key"),
        (("--cluster", "tls://127.0.0.1:1"), "E-CLUSTER-TLS --cluster-ca"),
        (("--cluster", "tls://127.0.0.1:1", "--cluster-ca", "ca.pem"), "E-CLUSTER-TLS --cluster-cert"),
        (("--cluster", "tls://127.0.0.1:1", *given), "E-HOST-UNREACHABLE"),
        (("--cluster", "tls://127.0.0.1:1", "--cluster-ca", "no.pem"), "E-FILE-UNREADABLE no.pem"),
        (("--cluster", "ucx://10.77.0.9:1"), "E-VALUE-FORM ucx://10.77.0.9:1 tls://"),
        (("--cluster", LOCAL), "E-HOST-UNREACHABLE 127.0.0.1:1 scheduler"),
        (("--cluster", LOCAL, "--hosts", "hosts.toml"), "E-OPTION-CONFLICT --hosts --cluster"),
        (("--cluster-ca", "ca.pem"), "E-OPTION-CONFLICT --cluster"),
    )
    started = [(start("run", scenario.name, *words), expected) for words, expected in cases]
    for done, expected in started:
        _, error = done.communicate()
        assert done.returncode == 2 and lacking(error, expected) == [], error


def worker(name: str, contact: str = "tcp://127.0.0.1:4000", **more: Any) -> dict[str, Any]:
    told = {"name": name, "host": "127.0.0.1", "nanny": None, "resources": {"agent": 1}, **more}
    return {contact: told}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (worker("one", resources={}), "E-CLUSTER-WORKER --resources"),
        (worker("tcp://127.0.0.1:4000"), "E-CLUSTER-WORKER --name"),
        (worker("one", nanny="tcp://127.0.0.1:4001"), "E-CLUSTER-WORKER one nanny --no-nanny"),
        (worker("one", "tcp://10.77.0.2:4000"), "E-CLUSTER-TLS one tcp://10.77.0.2:4000"),
        (worker("one", "tls://board:4000", host="board"), "E-CLUSTER-WORKER one board --contact-address"),
    ],
)
def test_a_worker_that_cannot_be_a_host_is_refused(told: dict[str, Any], expected: str) -> None:
    with refuses(HostError, expected):
        find_workers(SimpleNamespace(scheduler_info=lambda **_: {"workers": told}))


class Work:
    def __init__(self) -> None:
        self.runs = True

    def is_running(self) -> bool:
        return self.runs

    def start(self) -> None:
        self.runs = True

    def stop(self) -> None:
        self.runs = False


def test_an_agent_ends_when_its_coordinator_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """While an agent runs, the worker pauses periodic work that would disturb the nodes; afterwards, the worker resumes
    this work."""
    monkeypatch.setattr(worker_agent, "SILENCE_S", 0.2)
    work = {name: Work() for name in ("heartbeat", "tick")}

    async def neglect() -> None:
        await worker_agent.start("key", SimpleNamespace(periodic_callbacks=work))
        assert work["heartbeat"].runs and not work["tick"].runs
        greeting = await worker_agent.read("key", 0)
        assert greeting is not None and b'"role":"agent"' in greeting
        with pytest.raises(ValueError, match="byte 0"):
            await worker_agent.read("key", 0)
        with pytest.raises(ValueError, match="byte 7"):
            await worker_agent.write("key", 7, b"{}\n")
        agent = worker_agent._agents["key"]
        while "key" in worker_agent._agents or not work["tick"].runs:
            await asyncio.sleep(0.02)
        assert agent._process.returncode == 0

    asyncio.run(asyncio.wait_for(neglect(), 60))


def certificates(folder: Path) -> tuple[Path, Path, Path]:
    """Create a certificate authority, and a certificate that this authority has signed, with the certificate's key."""
    ca, ca_key, cert, key, request = (folder / f"{name}.pem" for name in ("ca", "ca-key", "cert", "key", "request"))
    new = ("openssl", "req", "-newkey", "rsa:2048", "-nodes")
    signed = ("-CA", str(ca), "-CAkey", str(ca_key), "-CAcreateserial", "-days", "2")
    for words in (
        (*new, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", str(ca_key), "-out", str(ca)),
        (*new, "-subj", "/CN=cluster", "-keyout", str(key), "-out", str(request)),
        ("openssl", "x509", "-req", "-in", str(request), *signed, "-out", str(cert)),
    ):
        subprocess.run(words, check=True, capture_output=True)
    return ca, cert, key


def test_hosts_with_networks_of_their_own_meet_over_tls(tmp_path: Path, scenario: Path) -> None:
    ca, cert, key = map(str, certificates(tmp_path))
    text = scenario.read_text().replace('["synthetic", "zeromq", "tcp"]', '"tcp"')
    scenario.write_text(text)
    security = ("--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key)
    with (
        two_hosts() as (first, second),
        cluster(tmp_path, first.address, first.before, security) as found,
    ):
        found.add("one", *HOST, before=first.before)
        found.add("two", *HOST, before=second.before)
        words = ("run", scenario.name, "--cluster", found.address, *OUT)
        options = ("--cluster-ca", ca, "--cluster-cert", cert, "--cluster-key", key)
        environment = environment_in(tmp_path)
        done = first.run(command(*words, *options), cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["flow"]: row for row in read(tmp_path / "run", "cells") if row["flow"]}
    assert rows["frames"]["received"] == 50 and rows["orders"]["received"] == 50
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert {each["address"] for each in about["hosts"].values()} == {first.address, second.address}


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from hopmeter.hosts.coordinator.cluster import Cluster as Named
    from hopmeter.hosts.coordinator.cluster import connect_cluster

    monkeypatch.setitem(sys.modules, "distributed", None)
    with refuses(UsageError, "E-CLUSTER-MISSING hopmeter[cluster]"), connect_cluster(Named(LOCAL)):
        pass
