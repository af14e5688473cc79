"""If one of several hosts fails, trials on this host fail with the reason and the other cells continue."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.hosts.test_clocks import AHEAD
from tests.hosts.test_runs import Run, agent, nothing_is_left, processes, read, scenario, start
from tests.waiting import wait_for_trial

pytestmark = pytest.mark.slow

__all__ = ["nothing_is_left", "scenario", "start"]

CHAINS = """
title = "Chains"
question = "Does a chain go on without a host that it does not need?"
transport = "tcp"
language = "python"
placement = "process"
wait = "block"
cores = "free"
payload = "bytes:64"
relays = [0, 1]
rate = 200
messages = 30
warmup = 2
trials = 8
"""


@pytest.mark.parametrize("before", [(), AHEAD], ids=["one clock", "two clocks"])
def test_cells_without_a_lost_host_go_on(tmp_path: Path, start: Run, before: tuple[str, ...]) -> None:
    """The chain without a relay uses only the first two hosts, whose clocks are still compared."""
    if before and subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine forbids time namespaces")
    entries = {"one": agent(), "two": agent(*before), "three": agent("env", "AGENT_OF=three")}
    (tmp_path / "hosts.toml").write_text("".join(f"[host.{name}]\nagent = {each}\n" for name, each in entries.items()))
    (tmp_path / "chains.toml").write_text(CHAINS)
    done = start("run", "chains.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report")
    wait_for_trial(tmp_path / ".run.partial")
    (third,) = [each for each in processes(tmp_path, "agent") if each.environ().get("AGENT_OF")]
    third.send_signal(signal.SIGKILL)
    printed = done.communicate()
    cells = {row["relays"]: row for row in read(tmp_path / "run", "cells")}
    trials = {
        relays: [each for each in read(tmp_path / "run", "trials") if each["cell"] == row["cell"]]
        for relays, row in cells.items()
    }
    lost = [each for each in trials[1] if "three is gone" in (each["reason"] or "")]
    assert len(lost) >= 6, printed
    assert not any("is gone" in (each["reason"] or "") for each in trials[0]), printed
    assert (cells[0]["clock_uncertainty_us"] is not None) == bool(before)
    begin = min(each["order"] for each in lost)
    assert any(each["good"] and each["order"] > begin for each in trials[0])
