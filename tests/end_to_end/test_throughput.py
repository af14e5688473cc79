"""Known truth: a repeated search finds the rates at which the test transport is planned to carry messages."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path

from tests.end_to_end.conftest import Ran

SLOW_HZ, FAST_HZ = 2000.0, 3000.0
FACTOR = 1.2
SCENARIO = f"""
title = "Two planned rates"
question = "How many messages?"
transport = "synthetic"
language = "rust"
cores = "free"
payload = "bytes:500"
duration = "250ms"
drain = "50ms"
trials = 1
seed = 4
settings.synthetic.max_rate_hz = [{SLOW_HZ}, {FAST_HZ}]

[search]
factor = {FACTOR}
rounds = 3
highest = 100000
"""


def test_the_planned_rates_are_found_ranked_and_shown(run_in: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "planned.toml").write_text(SCENARIO)
    ran = run_in("run", "planned.toml", "--out", "here")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "messages/s" in ran.stdout and "Throughput" in (tmp_path / "here" / "report.html").read_text()

    rows = [json.loads(line) for line in run_in("show", "here", "--json").stdout.splitlines()]
    slow, fast = sorted((row for row in rows if row["throughput_hz"]), key=lambda row: row["throughput_hz"])
    for row, planned_hz in ((slow, SLOW_HZ), (fast, FAST_HZ)):
        assert max(row["throughput_hz"] / planned_hz, planned_hz / row["throughput_hz"]) < math.sqrt(FACTOR)
        assert math.isclose(row["throughput_mb_s"], row["throughput_hz"] * 500 / 1e6)
        assert row["rounds"] == 3 and row["status"] == "ok" and row["acknowledged_by"] == "none"
        assert row["throughput_limit"] in ("queue", "source") and row["flood_hz"] > planned_hz / 2
    assert fast["rank_low"] == 1 and fast["ratio_to_best"] == 1
    assert math.isclose(slow["ratio_to_best"], fast["throughput_hz"] / slow["throughput_hz"])

    (pair,) = (json.loads(line) for line in run_in("show", "here", "--pairs", "--json").stdout.splitlines())
    assert (pair["a"], pair["b"]) == (fast["cell"], slow["cell"])
    table = list(csv.DictReader(io.StringIO(run_in("show", "here", "--format", "csv").stdout)))
    assert [float(line["throughput_hz"]) for line in table] == [fast["throughput_hz"], slow["throughput_hz"]]
