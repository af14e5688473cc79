"""Figures and tables show the same values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hopmeter.analysis.latency.percentiles import quantiles
from hopmeter.analysis.results import distributions
from hopmeter.analysis.results.message_samples import Hop, Numbers, Trial
from hopmeter.analysis.results.run_results import Row, read
from tests.report.rows import cell, run_of

TEN = np.arange(1, 11)
QUARTILES = (2 + 11 / 12, 5.5, 8 + 1 / 12)
"""The quartiles of the numbers 1 to 10 by Hyndman and Fan's type 8; NumPy's default, type 7, would be 3.25 and 7.75."""


def row_of(monkeypatch: pytest.MonkeyPatch, latencies_us: Numbers) -> Row:
    trial = Trial(0, latencies_us, latencies_us, latencies_us, (Hop(latencies_us, 0),), 0)
    monkeypatch.setattr(distributions, "trials", lambda _: [trial])
    return run_of(cell("shm", 10, 9, 11)).rows[0]


def test_the_box_of_a_row_has_the_median_of_the_table(run: Path) -> None:
    rows = [row for row in read(run).rows if row.p50 is not None]
    boxes = [distributions.row_box(row) for row in rows]
    assert len(boxes) > 5
    assert [box and box.p50 for box in boxes] == pytest.approx([row.latency("p50") for row in rows])


def test_a_box_has_the_quartiles_of_the_tables_estimator() -> None:
    box = distributions.box(TEN.astype(np.float64), 0)
    assert box
    assert (box.q1, box.p50, box.q3) == pytest.approx(QUARTILES)


def test_a_hop_has_the_percentiles_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.arange(1, 101)
    drawn = distributions.hop_percentiles(row_of(monkeypatch, samples.astype(np.float64)))
    assert drawn == [(1, *map(pytest.approx, quantiles(samples, (500, 900), 0)))]


def test_a_curve_of_1000_messages_ends_at_the_p99_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.arange(1, 1001)
    share, latency = distributions.percentile_curve(row_of(monkeypatch, samples.astype(np.float64)))[-1]
    assert share == pytest.approx(0.99)
    assert latency == pytest.approx(quantiles(samples, [990], 0)[0])


def test_the_bulk_ends_at_the_tables_estimate_of_its_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = distributions.bulk(row_of(monkeypatch, np.arange(1.0, 1001.0))) or (0, 0)
    assert (low, high) == pytest.approx((1 / 3 + 1.0003333, 995.665), abs=1e-3)


def test_the_notch_of_a_run_by_hand_has_the_tables_quartiles() -> None:
    low, high = distributions.notch(TEN.astype(np.float64), 0) or (0, 0)
    assert (high - low) / 2 == pytest.approx(distributions.NOTCH * (QUARTILES[2] - QUARTILES[0]) / 10**0.5)
