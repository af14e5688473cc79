"""Analyse ten million sample rows, and fail if the analysis takes 5 s or needs 1 GB.

`python benches/analysis.py` writes the samples to a temporary folder and analyses them in a separate process. The
measured time includes the start of the analysing process; the measured memory is the process's peak according to the
kernel (VmHWM).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from ending import Run, orderly

from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.samples import HEAD_BYTES, NONE_NS, RECORD

ROWS = 10_000_000
TRIALS = 5
LIMIT_S = 5.0
LIMIT_MB = 1000.0
PATIENCE_S = 120.0
PERIOD_NS = 10_000

CHAIN = Cell.of(
    id="one-hop",
    transport="made-up",
    language="rust",
    pattern="pubsub",
    placement="process",
    wait="block",
    cores="same",
    payload="timing",
    payload_bytes=32,
    touch="write",
    codec="none",
    pace="open",
    rate_hz=1e9 / PERIOD_NS,
    relays=0,
    sinks=1,
    trials=TRIALS,
)
CASES = {"one-hop": CHAIN, "twenty-relays": CHAIN.with_values(id="twenty-relays", relays=20)}

MEASURED = """
import json, sys
from pathlib import Path
from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.store.run_folder import RunFolder
rows = analyse_run(RunFolder.open(Path(sys.argv[1])))
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"peak_mb": int(peak.split()[1]) * 1024 / 1e6, "rows": rows}))
"""


def raw_file(path: Path, endpoint: int, **times: np.ndarray[Any, Any]) -> Path:
    """Write the samples of one endpoint in a node's format, with every message once and in order. Return the file's
    path."""
    count = len(next(iter(times.values())))
    records = np.zeros(count, RECORD)
    records["seq"] = np.arange(count)
    records["endpoint"] = endpoint
    for name in ("due_ns", "sent_ns", "arrived_ns", "forwarded_ns", "encoded_ns", "decoded_ns"):
        records[name] = times.get(name, NONE_NS)
    head = np.zeros(HEAD_BYTES, np.uint8)
    head[:8] = np.frombuffer(b"HMSAMPLE", np.uint8)
    head[8:24] = np.array([1, RECORD.itemsize, endpoint, 0], "<u4").view(np.uint8)
    head[24:40] = np.array([count, 0], "<u8").view(np.uint8)
    with path.open("wb") as file:
        head.tofile(file)
        records.tofile(file)
    return path


def make_trial(folder: RunFolder, cell: Cell, trial: int, scratch: Path) -> None:
    """Add a trial with long-tailed latencies, which are expensive to analyse."""
    places = cell.axes.relays + 2
    messages = ROWS // TRIALS // places
    random = np.random.default_rng(trial)
    due = 10**15 + np.arange(messages) * PERIOD_NS
    left = due + random.integers(50, 500, messages)
    files = [raw_file(scratch / "0.raw", 0, due_ns=due, sent_ns=left)]
    for place in range(1, places):
        arrived = left + random.lognormal(8, 0.5, messages).astype(np.int64)
        left = arrived + 300
        passed_on = {"forwarded_ns": left} if place < places - 1 else {}
        files.append(raw_file(scratch / f"{place}.raw", place, arrived_ns=arrived, **passed_on))
    folder.add_trial(TrialResult(cell.id, trial, good=True), files)
    for file in files:
        file.unlink()


def make_run(results: Path, cell: Cell) -> Path:
    """Write a run with one cell, and return its folder."""
    about = {"cells": [cell.with_values(messages=ROWS // TRIALS // (cell.axes.relays + 2)).as_json()]}
    folder = RunFolder.create(results, cell.id, about)
    for trial in range(TRIALS):
        make_trial(folder, cell, trial, results)
    return folder.path


def measure(run: Path) -> dict[str, Any]:
    """Return the time and the peak memory of a process that analyses the run."""
    begun = time.monotonic()
    with Run() as programs:
        done = programs.capture([sys.executable, "-c", MEASURED, str(run)], PATIENCE_S)
        seconds = time.monotonic() - begun
    if done.returncode != 0:
        raise RuntimeError(f"the analysis failed: {done.stderr.strip()[-400:]}")
    said = json.loads(done.stdout)
    row = said["rows"][0]
    if row["received"] != row["sent"] or row["status"] == "failed":
        raise RuntimeError(f"the analysis is wrong: {row['status']}, {row['reason']}")
    return {"case": row["cell"], "seconds": round(seconds, 2), "peak_mb": round(said["peak_mb"])}


def line(found: dict[str, Any], holds: bool) -> str:
    took = f"{found['seconds']:.2f} s and {found['peak_mb']} MB"
    limits = f"limits {LIMIT_S:g} s and {LIMIT_MB:g} MB: {'holds' if holds else 'MISSED'}"
    return f"{ROWS:,} rows, {found['case']}: {took}   {limits}"


def main() -> int:
    """Return 0 if every case stays within the time limit and the memory limit."""
    held = True
    for cell in CASES.values():
        with tempfile.TemporaryDirectory() as results:
            found = measure(make_run(Path(results), cell))
        holds = found["seconds"] < LIMIT_S and found["peak_mb"] < LIMIT_MB
        print(line(found, holds), flush=True)
        held &= holds
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(orderly(main))
