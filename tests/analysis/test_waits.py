"""A queue that filled up before the first counted message is detected even if the queue does not grow. A long delay of
the transport does not count as a queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.made import MS, US, Rows, Trial, analyse_trials, arrivals, cell, messages
from tests.coded import lacking

COUNT = 1000


def batch_rows(span_ms: float) -> Rows:
    """Return the rows of a receiver that handles all waiting messages at once."""
    return [{"seq": s, "arrived": int((s // span_ms + 1) * span_ms * MS)} for s in range(COUNT)]


def chain(relays: int, hop_us: float, hold_us: float) -> Trial:
    """Return a chain in which each hop and each endpoint takes a fixed time, regardless of other messages."""
    trial: dict[int, Rows] = {0: messages(COUNT)}
    for place in range(1, relays + 2):
        at = place * hop_us + (place - 1) * hold_us
        came, left = arrivals(range(COUNT), at), arrivals(range(COUNT), at + hold_us, "forwarded")
        trial[place] = [a | b for a, b in zip(came, left, strict=True)] if place <= relays else came
    return trial


def batch_trial(relays: int, turn_ms: float) -> Trial:
    """Return a trial like `chain` in which an endpoint runs only occasionally, and then handles all waiting messages in
    order."""
    draw, at = np.random.default_rng(0), np.arange(COUNT) * MS
    trial: dict[int, Rows] = {0: messages(COUNT)}
    for place in range(1, relays + 2):
        turns = np.cumsum(draw.uniform(0.2, 2 * turn_ms - 0.2, 10 * COUNT) * MS).astype(int)
        at = turns[np.searchsorted(turns, at, side="right")]
        names = ["arrived", "forwarded"][: 1 + (place <= relays)]
        trial[place] = [{"seq": s, **dict.fromkeys(names, int(when))} for s, when in enumerate(at)]
    return trial


def late(us: int, count: int) -> Trial:
    """Return a source that sends every message equally late, over a transport without delay."""
    return {0: messages(count, us), 1: arrivals(range(count), us + 20)}


def refusing(busy: int) -> list[dict[str, Any]]:
    return [{"endpoints": [{"role": "source", "busy": busy}]}]


def test_a_queue_that_filled_up_in_the_warm_up_is_told(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), {0: messages(COUNT), 1: batch_rows(100)})
    assert row["status"] == "saturated"
    assert lacking(row["reason"], "W-QUEUE-STANDING") == []
    assert " 49" in row["reason"]


def test_so_are_many_short_ones_in_a_chain(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(relays=20), batch_trial(20, 4))
    assert lacking(row["reason"], "W-QUEUE-STANDING") == []


def test_a_source_that_is_late_all_along_is_told(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), late(25_000, 3 * COUNT))
    assert (row["status"], row["lost"]) == ("saturated", 0)
    assert lacking(row["reason"], "W-QUEUE-STANDING") == []
    assert "25 ms" in row["reason"] and " 25 others" in row["reason"]


def test_a_full_queue_is_told_by_its_refusals(tmp_path: Path) -> None:
    far = {0: messages(COUNT), 1: arrivals(range(COUNT), 100_000)}
    row = analyse_trials(tmp_path, cell(), far, nodes=refusing(3 * COUNT))
    assert row["status"] == "saturated"
    assert lacking(row["reason"], "W-QUEUE-FULL") == []
    assert all(figure in row["reason"] for figure in (" 3 times", "100 ms", " 100 others"))


@pytest.mark.parametrize("busy", [0, COUNT // 2])
def test_a_long_way_is_no_queue(busy: int, tmp_path: Path) -> None:
    far = {0: messages(COUNT), 1: arrivals(range(COUNT), 100_000)}
    row = analyse_trials(tmp_path, cell(), far, nodes=refusing(busy))
    assert (row["status"], row["reason"], row["response_p50_us"]) == ("ok", None, 100_000)


def test_nor_is_a_chain_whose_places_take_their_time(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(relays=20), chain(20, hop_us=5000, hold_us=900))
    assert (row["status"], row["reason"]) == ("ok", None)
    assert row["response_p50_us"] == pytest.approx(21 * 5000 + 20 * 900)


def test_nor_are_places_that_are_each_busy_with_the_message_before(tmp_path: Path) -> None:
    draw, at = np.random.default_rng(0), np.arange(COUNT) * MS
    trial: dict[int, Rows] = {0: messages(COUNT), 21: []}
    for place in range(1, 21):
        done, rows = 0, []
        for seq, hold in enumerate(draw.uniform(0.9 * MS, 1.04 * MS, COUNT).astype(int)):
            came = max(int(at[seq]) + 20 * US, done)
            done = came + int(hold)
            rows.append({"seq": seq, "arrived": came, "forwarded": done})
        trial[place], at = rows, np.array([row["forwarded"] for row in rows])
    trial[21] = [{"seq": seq, "arrived": int(when) + 20 * US} for seq, when in enumerate(at)]
    assert analyse_trials(tmp_path, cell(relays=20), trial)["status"] == "ok"


def test_nor_is_a_way_of_many_lengths_where_messages_overtake(tmp_path: Path) -> None:
    took = np.random.default_rng(0).exponential(50 * MS, COUNT).astype(int)
    came = sorted(({"seq": s, "arrived": s * MS + int(took[s])} for s in range(COUNT)), key=lambda row: row["arrived"])
    assert analyse_trials(tmp_path, cell(), {0: messages(COUNT), 1: came})["status"] == "ok"


def test_nor_is_what_a_stall_leaves_and_is_caught_up_with(tmp_path: Path) -> None:
    came = [{"seq": s, "arrived": s * MS + max(50 * US, (600 - s) * MS // 2)} for s in range(COUNT)]
    assert analyse_trials(tmp_path, cell(), {0: messages(COUNT), 1: came})["status"] == "ok"


def test_nor_is_what_comes_while_a_receiver_wakes(tmp_path: Path) -> None:
    fast = [{"seq": s, "due": 20 * s * US, "sent": 20 * s * US} for s in range(COUNT)]
    woken = [{"seq": s, "arrived": (s // 20 + 1) * 400 * US} for s in range(COUNT)]
    assert analyse_trials(tmp_path, cell(rate_hz=50_000.0), {0: fast, 1: woken})["status"] == "ok"


def test_nor_is_a_burst_whose_messages_wait_for_each_other(tmp_path: Path) -> None:
    due = [s // 100 * 100 * MS for s in range(COUNT)]
    sent = [{"seq": s, "due": at, "sent": at} for s, at in enumerate(due)]
    came = [{"seq": s, "arrived": at + (s % 100 + 1) * 900 * US} for s, at in enumerate(due)]
    assert analyse_trials(tmp_path, cell(pace="burst", burst=100), {0: sent, 1: came})["status"] == "ok"
