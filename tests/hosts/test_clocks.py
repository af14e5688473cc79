"""Tests for `hopmeter run --hosts` on hosts with known clock offsets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hopmeter.clocks.run_clocks import RunClocks
from hopmeter.store.clock_file import read_clocks
from tests.hosts.test_runs import Run, agent, nothing_is_left, read, scenario, start

pytestmark = pytest.mark.slow

__all__ = ["nothing_is_left", "scenario", "start"]

AHEAD_S = 1000
USER = () if os.geteuid() == 0 else ("--map-root-user",)
MOST_US = 5000
"""More than the time of the fastest of 50 messages on one machine; the clock offset is 200,000 times larger."""
AHEAD = ("unshare", *USER, "--time", "--monotonic", str(AHEAD_S), "--boottime", str(AHEAD_S))


def test_latencies_are_measured_between_hosts_with_different_clocks(tmp_path: Path, scenario: Path, start: Run) -> None:
    forbidden = subprocess.run([*AHEAD, "true"], capture_output=True, text=True, check=False)
    if forbidden.returncode:
        pytest.skip(f"this machine forbids time namespaces: {forbidden.stderr.strip()}")
    (tmp_path / "hosts.toml").write_text(f"[host.one]\nagent = {agent()}\n[host.two]\nagent = {agent(*AHEAD)}\n")
    # The planned delays of `synthetic` need a single clock.
    scenario.write_text(scenario.read_text().replace('"synthetic", ', "").replace("trials = 1", "trials = 2"))
    done = start("run", scenario.name, "--hosts", "hosts.toml", "--out", "run")
    printed, error = done.communicate()
    assert done.returncode == 0, (printed, error)
    run = tmp_path / "run"
    rows = {(row["transport"], row["flow"] or row["path"]): row for row in read(run, "cells")}
    for transport in ("zeromq", "tcp"):
        there, back = (rows[transport, flow] for flow in ("frames", "orders"))
        for row in (there, back):
            assert row["trials_good"] == 2
            assert row["negative"] == 0, "no message arrived earlier than the clocks allow"
            doubt = row["clock_uncertainty_us"]
            assert 0 < doubt < MOST_US
            assert -doubt < row["service_min_us"] < MOST_US + doubt
        reaction = rows[transport, "reaction"]
        assert reaction["clock_uncertainty_us"] is None, "it begins and ends on one host"
        doubt = there["clock_uncertainty_us"] + back["clock_uncertainty_us"]
        assert reaction["reaction_min_us"] > there["service_min_us"] + back["service_min_us"] - doubt
    batches, states = read_clocks(run)
    assert len(batches) == 1 + 2 * 2, "before the first trial and after each"
    assert {state.host for state in states} == {"one", "two"}
    (model,) = next(iter(RunClocks(batches, states).sessions.values())).values()
    for least in (batch.least for batch in model.batches):
        assert abs(least.offset_ns - AHEAD_S * 10**9) <= least.bound_ns
        assert least.bound_ns < MOST_US * 1000
    assert "Clock offset between one and two: known to" in printed
    assert "all latencies between hosts may be wrong by" in printed
