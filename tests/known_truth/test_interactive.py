"""`publish` and `listen` over `synthetic` measure the planned delays, like `hopmeter run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.interactive.running import start
from tests.known_truth.measuring import run

pytestmark = pytest.mark.alone

DELAY_US, JITTER_US, LATE_US = 20_000, 8000, 2500
"""The planned delay and jitter, and the extra delay that a busy machine may add to a median."""
PLAN: dict[str, Any] = {"delay_us": DELAY_US, "jitter": "uniform", "jitter_us": JITTER_US, "lose_every": 10}
MESSAGES, RATE = 100, 50
CASE = {
    "language": "python",
    "placement": "process",
    "cores": "free",
    "codec": "numpy",
    "payload": "array:20x30",
    "rate": RATE,
    "messages": MESSAGES,
    "trials": 1,
    "plan": PLAN,
}


def delays_us(path: Path) -> dict[int, float]:
    rows = pq.read_table(path, filters=[("endpoint", "=", 1)]).to_pylist()
    return {row["seq"]: (row["decoded_ns"] - row["sent_ns"]) / 1000 for row in rows}


def test_listen_reports_the_delays_of_the_plan_and_of_a_run(tmp_path: Path) -> None:
    words = ["--plugins", "numpy", "--mwares", "synthetic", "--width", "30", "--height", "20", "--rate", str(RATE)]
    words += ["--trials", str(MESSAGES), "--folder", str(tmp_path / "meeting"), "--out", str(tmp_path / "out")]
    plan = [word for name, value in PLAN.items() for word in ("--set", f"{name}={value}")]
    with (
        start(tmp_path / "listen.log", "listen", *words, *plan) as listener,
        start(tmp_path / "publish.log", "publish", *words) as publisher,
    ):
        assert publisher.ends() == 0, publisher.output + listener.output
        assert listener.ends() == 0, listener.output
    done = run(tmp_path, {"numpy": CASE})
    assert done.returncode == 0, done.stderr
    (of_run,) = (tmp_path / "run/samples").glob("*-synthetic-*.parquet")
    met, ran = delays_us(tmp_path / "out/samples/listener-synthetic-numpy.parquet"), delays_us(of_run)
    assert met.keys() == ran.keys()
    assert len(met) == MESSAGES * 9 // 10
    for found in (met, ran):
        assert min(found.values()) >= DELAY_US
        assert DELAY_US <= np.median([*found.values()]) <= DELAY_US + JITTER_US + LATE_US
    assert abs(np.median([met[seq] - ran[seq] for seq in met])) <= LATE_US
