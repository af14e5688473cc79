"""A planned disturbance is reported as the reason for slow messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.cost.slow_messages import PARTS
from tests.command import hopmeter
from tests.known_truth.measuring import Case, Measured, measure
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

SHORT: Case = {"rate": 50, "messages": 24, "trials": 1, "warmup": 2}
WORKS: Case = {**SHORT, "rate": 15, "messages": 20}
BIG = "bytes:34000000"
"""A payload larger than the largest block that the C library allocates from its heap."""
CASES: dict[str, Case] = {
    "transport": {**SHORT, "plan": {"delay_us": 300_000}},
    "stall": {**SHORT, "plan": {"stall_at": 10, "stall_ms": 600}},
    "sleeping work": {**WORKS, "relays": 1, "work": "sleep:40ms", "plan": {}},
    "spinning work": {**WORKS, "relays": 1, "work": "spin:40ms", "plan": {}},
    "new memory": {**WORKS, "payload": BIG, "touch": "write", "heap": "libc", "plan": {}},
    "call": {**WORKS, "pattern": "rpc", "work": "sleep:40ms", "plan": {}},
    "ring": {**SHORT, "pace": "closed", "relays": 1, "plan": {}},
}
SPINNERS = 4
"""The number of busy-looping programs per core."""
MOST = 0.7
"""The minimum share of the delay that the planned reason must explain, even on a busy machine."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return measure(tmp_path_factory.mktemp("why"), CASES, "--why")


@contextmanager
def spinners() -> Iterator[None]:
    """Keep every core busy that the nodes may use."""
    spin = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile os.getppid() == int(sys.argv[2]): pass"
    command = [sys.executable, "-c", spin]
    cores = sorted(os.sched_getaffinity(0))
    started = [subprocess.Popen([*command, str(core), str(os.getpid())]) for core in cores * SPINNERS]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


@pytest.mark.parametrize(
    ("name", "part"),
    [("transport", "waking"), ("stall", "behind"), ("sleeping work", "work_sleep"), ("call", "work_sleep")],
)
def test_the_planned_reason_is_most_of_the_latency(run: Measured, name: str, part: str) -> None:
    row = run.rows[name]
    shares = {each: row[f"why_{each}"] for each in PARTS}
    assert shares[part] > MOST, shares
    assert row["why_unknown"] < 0.1
    assert row["why_messages"] == 10


def test_work_that_runs_is_running_or_waits_for_its_core(run: Measured) -> None:
    row = run.rows["spinning work"]
    assert row["why_running"] + row["why_core_wait"] + row["why_stolen"] > MOST
    assert row["why_running"] > 0.1


def test_new_memory_causes_page_faults(run: Measured) -> None:
    new, other = (run.rows[name]["why_minor_faults"] for name in ("new memory", "transport"))
    assert new > 5000, "34 MB have 8300 pages; on a busy machine a message may get memory that another has just freed"
    assert other < 1000


def test_a_ring_is_not_explained_and_says_so(run: Measured) -> None:
    row = run.rows["ring"]
    assert row["why_messages"] is None
    assert "W-WHY-NO-CHAIN" in row["why_note"]


def test_the_extra_trial_is_in_no_other_column(run: Measured) -> None:
    row = run.rows["transport"]
    assert (row["trials"], row["trials_good"], row["received"]) == (1, 1, 24)
    assert len(list((run.folder / "samples").glob(f"{row['cell']}-*"))) == 1


def test_show_prints_the_reason_of_one_cell(run: Measured) -> None:
    cell = run.rows["transport"]["cell"]
    assert "waking up or in the transport" in hopmeter("show", run.folder, cell).stdout
    assert json.loads(hopmeter("show", run.folder, cell, "--json").stdout)["why_waking"] > MOST


@pytest.mark.alone
def test_programs_on_the_same_cores_are_waited_for(tmp_path: Path) -> None:
    """A planned load makes messages wait for the core.

    Most woken threads still run at once, so the test needs many messages. A stall of the whole machine can hide the
    waits, so one of three runs suffices.
    """
    shares = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        shares.append(measure_beside_spinners(folder)["why_core_wait"])
        if shares[-1] > 0.5:
            return
    pytest.fail(f"no run has its slowest messages wait for a core: {shares}")


def measure_beside_spinners(folder: Path) -> dict[str, Any]:
    """Measure with cores that are busy only while the nodes run, not during planning and reporting."""
    first, last = folder / ".run.partial/trials.jsonl", folder / ".run.partial/why/trials.jsonl"
    with ThreadPoolExecutor() as pool:
        run = pool.submit(measure, folder, {"busy": {**SHORT, "rate": 200, "messages": 400, "plan": {}}}, "--why")
        wait_for(lambda: first.exists() or run.done())
        with spinners():
            wait_for(lambda: run.done() or (last.exists() and last.read_text().count("\n") == 2))
        return dict(run.result().rows["busy"])
