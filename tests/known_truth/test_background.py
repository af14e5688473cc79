"""The background load uses the requested CPU, does not count as a node's CPU, and delays processes on its core."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hopmeter.plan.placement.background_load import Load
from hopmeter.runtime.processes.background_load import BackgroundLoad
from tests.coded import lacking
from tests.command import hopmeter
from tests.known_truth.workloads import HEAD
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

CORES = sorted(os.sched_getaffinity(0))
LAST = CORES[-1]


@dataclass(frozen=True)
class Counted:
    """Kernel counters of a process: the time in s that its threads ran, and waited for a core."""

    ran_s: float
    waited_s: float

    @classmethod
    def of(cls, load: BackgroundLoad) -> Counted:
        """Return the current counters of a process."""
        files = Path(f"/proc/{load.pid}/task").glob("*/schedstat")
        ran, waited = (sum(each) / 1e9 for each in zip(*(_numbers(file) for file in files), strict=True))
        return cls(ran, waited)

    def since(self, before: Counted) -> Counted:
        """Return the difference to the current counters."""
        return Counted(self.ran_s - before.ran_s, self.waited_s - before.waited_s)


def _numbers(file: Path) -> tuple[int, int]:
    ran, waited, _ = map(int, file.read_text().split())
    return ran, waited


@contextmanager
def running(folder: Path, load: Load) -> Iterator[BackgroundLoad]:
    background = BackgroundLoad(load, folder / "log")
    try:
        yield background
    finally:
        background.close()


@pytest.mark.parametrize("percent", [20, 50])
def test_a_free_core_is_busy_for_the_share_that_was_requested_as_the_kernel_counts_it(
    tmp_path: Path, percent: int
) -> None:
    with running(tmp_path, Load((LAST,), percent, 0)) as background:
        begun_s, before = time.monotonic(), Counted.of(background)
        background.begin()
        wait_for(lambda: Counted.of(background).since(before).ran_s >= 0.4)
        achieved = background.reading()
        counted, took_s = Counted.of(background).since(before), time.monotonic() - begun_s
    assert achieved.cpu_percent is not None and achieved.memory_gb_s is None
    assert achieved.cpu_percent == pytest.approx(100 * counted.ran_s / took_s, abs=3)
    assert achieved.cpu_percent <= 1.05 * percent, "never more than requested"
    assert 100 * (counted.ran_s + counted.waited_s) / took_s >= 0.8 * percent, "less only if the core was not free"
    assert not (tmp_path / "log").exists(), "an empty log is removed"


def test_memory_is_copied_at_the_rate_that_was_requested(tmp_path: Path) -> None:
    with running(tmp_path, Load((LAST,), 0, 0.2)) as background:
        begun_s, before = time.monotonic(), Counted.of(background)
        background.begin()
        wait_for(lambda: Counted.of(background).since(before).ran_s >= 0.05)
        achieved = background.reading()
        waited = Counted.of(background).since(before).waited_s / (time.monotonic() - begun_s)
    assert achieved.cpu_percent is None and achieved.memory_gb_s is not None
    assert 0.2 * (0.8 - waited) <= achieved.memory_gb_s <= 0.21


SHARED = """
[participant]
hub = { language = "rust" }
worker = { language = "rust", cores = "CORE" }
[flow]
jobs = { from = "hub", to = "worker", rate = 4 }
results = { from = "worker", to = "hub", after = "jobs", work = "copy:200000000", deadline = "1s" }
"""
"""Copying needs the CPU all the time, so its duration doubles if two processes share the core."""


def measure(folder: Path, background: str, *options: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a workload by flow; the workload has a worker on the last core."""
    head = HEAD.replace("trials = 1", "trials = 3")
    text = f"{head}{background}\n{SHARED.replace('CORE', str(LAST))}"
    (folder / "load.toml").write_text(text)
    done = hopmeter("run", folder / "load.toml", "--out", folder / "run", "--no-report", "--json", *options)
    assert done.returncode == 0, done.stderr
    return {row["flow"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return measure(tmp_path_factory.mktemp("quiet"), "")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("loaded")
    return folder, measure(folder, f'[background]\ncpu = "100%"\ncores = "{LAST}"\n')


def test_work_beside_a_load_of_its_whole_core_is_late(quiet: Any, loaded: Any) -> None:
    alone_us, beside_us = (rows["results"]["median_us"] for rows in (quiet, loaded[1]))
    assert beside_us > 1.4 * alone_us, "two that share a core have half of it each"
    assert quiet["results"]["background"] == "" and quiet["results"]["background_cpu_percent"] is None


def test_work_beside_a_load_of_another_core_is_not(quiet: Any, tmp_path: Path) -> None:
    if len(CORES) < 2:
        return
    other = measure(tmp_path, f'[background]\ncpu = "100%"\ncores = "{CORES[0]}"\n')
    assert other["results"]["median_us"] < 1.5 * quiet["results"]["median_us"]


def test_what_the_load_achieved_is_in_the_rows_with_a_warning_if_it_is_too_little(loaded: Any) -> None:
    folder, rows = loaded
    row = rows["results"]
    assert row["background"] == f"cpu 100%, cores {LAST}"
    assert 20 < row["background_cpu_percent"] < 100 and row["background_memory_gb_s"] is None
    short = row["background_cpu_percent"] < 90
    assert [lacking(text, "W-BACKGROUND 100") for text in row["warnings"]] == [[]] * short
    trials = pq.read_table(folder / "run/trials.parquet").to_pylist()
    assert all(20 < trial["background_cpu_percent"] < 100 for trial in trials)
    assert hopmeter("show", folder / "run").stdout.count("Background load:") == 1


def test_the_load_counts_into_no_node(quiet: Any, loaded: Any) -> None:
    alone_us, beside_us = (rows[""]["cpu_us_per_message"] for rows in (quiet, loaded[1]))
    busy_us = 1e6 * loaded[1][""]["background_cpu_percent"] / 100 / 8
    assert beside_us < alone_us + busy_us / 2, "of the 8 messages in a second each would have a part of the load"
