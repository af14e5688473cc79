"""Planned latency growth over `synthetic` is found, and constant latency shows no growth."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from tests.command import hopmeter

START_US, RATE_HZ, SECONDS = 200_000, 200, 21
GROWTH_US = 20.0
"""Each message takes this much longer than the previous message: 84 ms, or 42 %, over the trial."""
SCENARIO = f"""
title = "Growth"
question = "Is it found?"
transport = "synthetic"
language = "rust"
wait = "block"
cores = "free"
duration = "{SECONDS}s"
trials = 1
settings.synthetic = {{ delay_us = {START_US}, growth_us = [0.0, {GROWTH_US}] }}
[participant]
first = {{}}
second = {{}}
[flow]
values = {{ from = "first", to = "second", rate = {RATE_HZ} }}
"""


def test_the_growth_of_a_long_run_is_found_and_only_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "growth.toml").write_text(SCENARIO)
    done = hopmeter("run", tmp_path / "growth.toml", "--out", tmp_path / "run", "--no-report")
    assert done.returncode == 0, done.stderr
    rows = [row for row in pq.read_table(tmp_path / "run/cells.parquet").to_pylist() if row["flow"]]
    flat, grown = sorted(rows, key=lambda row: float(row["growth"]))
    assert 0.9 < flat["growth_low"] < flat["growth_high"] < 1.1
    planned = (START_US + GROWTH_US * RATE_HZ * SECONDS) / START_US
    assert 1.1 < grown["growth_low"] <= planned <= 1.05 * grown["growth_high"]
    said = " ".join(hopmeter("show", tmp_path / "run").stdout.split())
    assert "Over the course of a trial, p50 of values over synthetic (Rust) delay_us" in said and "grew by 4" in said
    assert "there is no trend in 1 other row: p50 changed by less than" in said
