"""Tests for saturation: overload is detected, and a single stall does not count as overload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.made import MS, US, Rows, Trial, analyse_trials, arrivals, cell, messages
from tests.coded import lacking

COUNT = 1000


def growing(share: float, count: int = COUNT) -> Rows:
    """A receiver whose time per message exceeds the interval between messages by `share`."""
    return [{"seq": s, "arrived": s * MS + round((50 + s * share * 1000) * US)} for s in range(count)]


def late_source(share: float) -> Trial:
    """A source that falls behind its schedule; its messages arrive as fast as the source sends them."""
    sent = [row | {"sent": row["due"] + round(row["seq"] * share * MS)} for row in messages(COUNT)]
    return {0: sent, 1: [{"seq": row["seq"], "arrived": row["sent"] + 20 * US} for row in sent]}


def test_an_ordinary_cell_is_ok(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), {0: messages(COUNT), 1: arrivals(range(COUNT))})
    assert (row["status"], row["reason"]) == ("ok", None)
    assert row["achieved_hz"] == pytest.approx(1000)
    assert row["achieved_mb_s"] == pytest.approx(0.1, rel=0.002), "100 bytes a message"


@pytest.mark.parametrize(
    ("trial", "reason"),
    [
        (late_source(0.02), "W-OVERLOAD-RATE 980.4 1000 Hz"),
        ({0: messages(COUNT), 1: arrivals(range(COUNT - 20))}, "W-OVERLOAD-LOSS 2.0%"),
        ({0: messages(COUNT), 1: growing(0.02)}, "W-OVERLOAD-QUEUE"),
    ],
)
def test_overload_is_marked_with_its_reason(trial: Trial, reason: str, tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), trial)
    assert row["status"] == "saturated"
    assert lacking(row["reason"], reason) == []
    assert row["reason_code"] == reason.split()[0]


@pytest.mark.parametrize(
    "trial",
    [
        late_source(0.005),
        {0: messages(COUNT), 1: arrivals(range(COUNT - 10))},
        {0: messages(COUNT), 1: growing(0.005)},
    ],
)
def test_what_keeps_up_with_99_percent_is_no_overload(trial: Trial, tmp_path: Path) -> None:
    assert analyse_trials(tmp_path, cell(), trial)["status"] == "ok"


def test_one_late_message_at_the_end_is_no_overload(tmp_path: Path) -> None:
    sent = messages(COUNT)
    sent[-1]["sent"] += 50 * MS
    assert analyse_trials(tmp_path, cell(), {0: sent, 1: arrivals(range(COUNT), 60_000)})["status"] == "ok"


def ramp_trial(first_hz: float, last_hz: float, capacity_hz: float) -> Trial:
    """A source whose rate changes linearly, and a receiver that handles one message at a time."""
    length_s = COUNT / ((first_hz + last_hz) / 2)
    change = (last_hz - first_hz) / length_s
    due_s = [2 * n / (first_hz + (first_hz**2 + 2 * change * n) ** 0.5) for n in range(COUNT)]
    free_s, arrived_s = 0.0, []
    for each in due_s:
        free_s = max(free_s + 1 / capacity_hz, each + 50e-6)
        arrived_s.append(free_s)
    sent = [{"seq": n, "due": round(s * 1e9), "sent": round(s * 1e9)} for n, s in enumerate(due_s)]
    return {0: sent, 1: [{"seq": n, "arrived": round(s * 1e9)} for n, s in enumerate(arrived_s)]}


@pytest.mark.parametrize(("first_hz", "last_hz"), [(200.0, 1000.0), (1000.0, 200.0)])
def test_a_ramp_is_judged_at_its_fast_end(first_hz: float, last_hz: float, tmp_path: Path) -> None:
    one = cell(pace="ramp", rate_hz=first_hz, ramp_to_hz=last_hz)
    states = {
        capacity_hz: analyse_trials(tmp_path / str(capacity_hz), one, ramp_trial(first_hz, last_hz, capacity_hz))
        for capacity_hz in (800.0, 1100.0)
    }
    assert {capacity_hz: row["status"] for capacity_hz, row in states.items()} == {800.0: "saturated", 1100.0: "ok"}
    assert states[800.0]["reason_code"] == "W-OVERLOAD-QUEUE"
    assert states[1100.0]["achieved_hz"] == pytest.approx(600, rel=0.01), "the mean of the whole trial"


@pytest.mark.parametrize(
    ("pacing", "grows"), [({}, True), ({"pace": "ramp", "rate_hz": 500.0, "ramp_to_hz": 1500.0}, False)]
)
def test_a_latency_that_rises_with_the_rate_is_no_growth(pacing: dict[str, Any], grows: bool, tmp_path: Path) -> None:
    count = 24_000
    came = [{"seq": s, "arrived": s * MS + round((50 + s / count * 100) * US)} for s in range(count)]
    row = analyse_trials(tmp_path, cell(**pacing), {0: messages(count), 1: came})
    assert (row["growth"] is not None) == grows


def test_noise_that_rises_and_falls_is_no_backlog(tmp_path: Path) -> None:
    came = growing(0.02)
    for row in came[400:600]:
        row["arrived"] = row["seq"] * MS + 50 * US
    assert analyse_trials(tmp_path, cell(), {0: messages(COUNT), 1: came})["status"] == "ok"


def test_one_bad_trial_of_three_does_not_condemn_the_cell(tmp_path: Path) -> None:
    sound = {0: messages(COUNT), 1: arrivals(range(COUNT))}
    assert analyse_trials(tmp_path / "one", cell(trials=3), sound, sound, late_source(0.02))["status"] == "ok"
    row = analyse_trials(tmp_path / "two", cell(trials=3), sound, late_source(0.02), late_source(0.02))
    assert row["status"] == "saturated"


def test_the_luck_of_poisson_is_no_overload(tmp_path: Path) -> None:
    due = np.cumsum(np.random.default_rng(0).exponential(1.1 * MS, COUNT)).astype(int).tolist()
    sent = [{"seq": seq, "due": at, "sent": at} for seq, at in enumerate(due)]
    came = [{"seq": seq, "arrived": at + 50 * US} for seq, at in enumerate(due)]
    row = analyse_trials(tmp_path, cell(pace="poisson"), {0: sent, 1: came})
    assert row["achieved_hz"] < 950
    assert row["status"] == "ok"


def test_a_late_beginning_is_no_higher_rate(tmp_path: Path) -> None:
    sent = messages(100)
    for row in sent[:20]:
        row["sent"] = 20 * MS
    row = analyse_trials(tmp_path, cell(), {0: sent, 1: arrivals(range(100), 20_000)})
    assert row["achieved_hz"] == pytest.approx(1000)


@pytest.mark.parametrize("pace", ["closed", "max"])
def test_what_asks_for_no_rate_cannot_miss_it(pace: str, tmp_path: Path) -> None:
    back: list[dict[str, Any]] = [row | {"arrived": row["sent"] + row["seq"] * MS} for row in messages(COUNT)]
    served = [{"seq": s, "arrived": s * MS + 1, "forwarded": s * MS + 2} for s in range(COUNT)]
    row = analyse_trials(tmp_path, cell(pattern="rpc", pace=pace, rate_hz=None), {0: back, 1: served})
    assert (row["status"], row["pacing_error_p50_us"]) == ("ok", None)
