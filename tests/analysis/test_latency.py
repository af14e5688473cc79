"""Tests for latencies: each must be the difference between the correct two timestamps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.made import MS, US, Rows, analyse_trials, arrivals, cell, messages

COUNT = 40


def middle(row: dict[str, Any]) -> dict[str, float]:
    figures = {name: value for name, value in row.items() if name.endswith("_p50_us") and value is not None}
    return {name.removesuffix("_p50_us"): value for name, value in figures.items()}


def test_response_counts_from_when_it_was_due_and_service_from_when_it_was_sent(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), {0: messages(COUNT, late_us=30), 1: arrivals(range(COUNT), 50)})
    expected = {"response": 50, "service": 20, "hop": 20, "chain_per_hop": 20, "pacing_error": 30}
    assert middle(row) == pytest.approx(expected)


def test_a_chain_has_its_hops_and_the_time_at_a_relay_is_none_of_them(tmp_path: Path) -> None:
    trial: dict[int, Rows] = {0: messages(COUNT)}
    for relay, (came, left) in {1: (10, 15), 2: (35, 45)}.items():
        trial[relay] = [
            {"seq": s, "arrived": s * MS + came * US, "forwarded": s * MS + left * US} for s in range(COUNT)
        ]
    trial[3] = arrivals(range(COUNT), 75)
    row = analyse_trials(tmp_path, cell(relays=2, work="copy:100"), trial)
    assert (row["hop_min_us"], row["hop_p50_us"], row["hop_max_us"]) == (10, 20, 30)
    assert row["hop_count"] == 3 * COUNT
    assert row["chain_per_hop_p50_us"] == pytest.approx(25)
    assert (row["copy_min_us"], row["copy_max_us"]) == (5, 10)


def test_with_many_sinks_the_last_arrival_counts(tmp_path: Path) -> None:
    trial = {0: messages(COUNT), 1: arrivals(range(COUNT), 10), 2: arrivals(range(COUNT), 90)}
    row = analyse_trials(tmp_path, cell(sinks=2), trial)
    assert (row["response_p50_us"], row["hop_min_us"], row["hop_max_us"]) == (90, 10, 90)


def test_each_sink_is_told_apart(tmp_path: Path) -> None:
    most = COUNT * 3 // 4
    trial = {0: messages(COUNT, late_us=4), 1: arrivals(range(COUNT), 10), 2: arrivals(range(most), 90)}
    row = analyse_trials(tmp_path, cell(sinks=2, wait="callback+block"), trial)
    assert row["sinks_service_mean_us"] == row["sinks_service_p50_us"] == [6, 86]
    assert row["sinks_service_min_us"] == row["sinks_service_max_us"] == [6, 86]
    assert row["sinks_service_p99_us"] == [None, None], "40 messages do not resolve it"
    assert (row["sinks_received"], row["received"]) == ([COUNT, most], COUNT + most)


def test_a_sink_alone_and_a_ring_have_none_to_tell_apart(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), {0: messages(COUNT), 1: arrivals(range(COUNT))})
    assert row["sinks_service_p50_us"] is row["sinks_received"] is None


def test_the_copy_of_a_sink_begins_when_the_message_has_arrived(tmp_path: Path) -> None:
    came = [{"seq": s, "arrived": s * MS + 10 * US, "forwarded": s * MS + 25 * US} for s in range(COUNT)]
    trial = {0: messages(COUNT), 1: came, 2: arrivals(range(COUNT), 90)}
    row = analyse_trials(tmp_path, cell(sinks=2, work="copy:frame/none"), trial)
    assert (row["copy_min_us"], row["copy_max_us"], row["copy_count"]) == (15, 15, COUNT)
    assert (row["service_p50_us"], row["abandoned"]) == (90, 0), "a sink passes nothing on"


def test_of_several_copies_the_first_counts(tmp_path: Path) -> None:
    late = [{"seq": seq, "arrived": COUNT * MS} for seq in range(COUNT)]
    row = analyse_trials(tmp_path, cell(), {0: messages(COUNT), 1: arrivals(range(COUNT), 10) + late})
    assert (row["response_max_us"], row["duplicated"]) == (10, COUNT)


def test_a_ring_has_a_round_trip_and_no_one_way_time(tmp_path: Path) -> None:
    back = [row | {"arrived": row["sent"] + 60 * US} for row in messages(COUNT)]
    relayed = [{"seq": s, "arrived": s * MS + 25 * US, "forwarded": s * MS + 30 * US} for s in range(COUNT)]
    row = analyse_trials(tmp_path, cell(pace="closed", rate_hz=None, relays=1), {0: messages(COUNT) + back, 1: relayed})
    assert middle(row) == pytest.approx({"roundtrip": 60, "hop": 27.5, "chain_per_hop": 30}, abs=2.6)
    assert (row["sent"], row["received"], row["lost"]) == (COUNT, COUNT, 0)


def test_a_call_is_divided_into_server_and_overhead(tmp_path: Path) -> None:
    asked = [row | {"arrived": row["sent"] + 100 * US} for row in messages(COUNT, late_us=7)]
    relayed = [{"seq": s, "arrived": s * MS + 17 * US, "forwarded": s * MS + 22 * US} for s in range(COUNT)]
    served = [{"seq": s, "arrived": s * MS + 42 * US, "forwarded": s * MS + 72 * US} for s in range(COUNT)]
    row = analyse_trials(tmp_path, cell(pattern="rpc", relays=1), {0: asked, 1: relayed, 2: served})
    found = middle(row)
    assert (found["response"], found["service"], found["roundtrip"]) == (107, 100, 100)
    assert (found["server"], found["overhead"]) == (30, 100 - 30 - 5)
    assert found["chain_per_hop"] == pytest.approx(35 / 2), "the request's way alone, replies are no hops"
    assert (row["hop_min_us"], row["hop_max_us"]) == (10, 20)


def test_a_scatter_is_done_when_all_have_replied(tmp_path: Path) -> None:
    asked: Rows = []
    for row in messages(COUNT):
        for server, took in enumerate((40, 90, 60)):
            sent = row["sent"] + server * US
            asked.append(row | {"copy": server, "sent": sent, "arrived": row["sent"] + took * US})
    trial = {0: asked}
    for server, held in enumerate((30, 80, 50)):
        came = [s * MS + 5 * US for s in range(COUNT)]
        trial[1 + server] = [{"seq": s, "arrived": at, "forwarded": at + held * US} for s, at in enumerate(came)]
    row = analyse_trials(tmp_path, cell(pattern="scatter", sinks=3), trial)
    found = middle(row)
    assert (found["response"], found["gather"], found["overhead"]) == (90, 90, 10)
    assert (row["roundtrip_min_us"], row["roundtrip_max_us"], row["roundtrip_count"]) == (40, 89, 3 * COUNT)
    assert (row["server_min_us"], row["server_max_us"]) == (30, 80)
    assert (row["hop_min_us"], row["hop_max_us"]) == (3, 5)
    assert (row["sent"], row["received"], row["chain_per_hop_p50_us"]) == (3 * COUNT, 3 * COUNT, None)


SERVED_US = (40, 90, 60)
"""The reply time of each of three servers, which consists of the hold time plus 10 µs."""


def scatter_rows(sequential: bool) -> dict[int, Rows]:
    trial: dict[int, Rows] = {0: [], **{1 + server: [] for server in range(len(SERVED_US))}}
    for row in messages(COUNT):
        for server, took in enumerate(SERVED_US):
            sent = row["sent"] + (sum(SERVED_US[:server]) * US if sequential else 0)
            trial[0].append(row | {"copy": server, "sent": sent, "arrived": sent + took * US})
            came = sent + 5 * US
            trial[1 + server].append({"seq": row["seq"], "arrived": came, "forwarded": came + (took - 10) * US})
    return trial


@pytest.mark.parametrize(("dispatch", "gather", "overhead"), [("parallel", 90, 10), ("sequential", 190, 30)])
def test_what_is_above_the_servers_and_above_their_work_depends_on_how_they_were_asked(
    tmp_path: Path, dispatch: str, gather: float, overhead: float
) -> None:
    one = cell(pattern="scatter", sinks=3, work="sleep:20us/70us/30us", dispatch=dispatch)
    row = analyse_trials(tmp_path, one, scatter_rows(dispatch == "sequential"))
    found = middle(row)
    ideal = 70 if dispatch == "parallel" else 120
    assert (found["gather"], found["overhead"], row["ideal_us"]) == (gather, overhead, pytest.approx(ideal))
    assert found["excess"] == pytest.approx(gather - ideal)
    assert (row["dispatch"], row["excess_count"]) == (dispatch, COUNT)


def test_each_server_of_a_scatter_is_told_apart_and_who_was_last_is_counted(tmp_path: Path) -> None:
    trial = scatter_rows(sequential=False)
    for row in trial[0]:
        if row["copy"] == 2 and row["seq"] % 4 == 0:
            row["arrived"] += 100 * US
    row = analyse_trials(tmp_path, cell(pattern="scatter", sinks=3), trial)
    assert row["servers_roundtrip_p50_us"] == [40, 90, 60]
    assert row["servers_roundtrip_mean_us"] == pytest.approx([40, 90, 85])
    assert row["servers_roundtrip_p99_us"] == [None, None, None], "40 messages do not resolve it"
    assert row["servers_held_p50_us"] == row["servers_held_mean_us"] == [30, 80, 50]
    assert row["servers_last_share"] == [0, 0.75, 0.25]


def test_nobody_is_last_by_chance_where_the_last_is_asked_last(tmp_path: Path) -> None:
    row = analyse_trials(
        tmp_path, cell(pattern="scatter", sinks=3, dispatch="sequential"), scatter_rows(sequential=True)
    )
    assert row["servers_roundtrip_p50_us"] == [40, 90, 60]
    assert row["servers_last_share"] is row["ideal_us"] is row["excess_p50_us"] is None


def test_a_message_that_not_all_answered_has_no_last(tmp_path: Path) -> None:
    trial = scatter_rows(sequential=False)
    for row in trial[0]:
        if row["copy"] == 1 and row["seq"] >= COUNT // 2:
            del row["arrived"]
    row = analyse_trials(tmp_path, cell(pattern="scatter", sinks=3), trial)
    assert row["servers_last_share"] == [0, 1, 0]
    assert row["gather_count"] == COUNT / 2
    assert row["servers_roundtrip_p50_us"][0] == 40


def test_calls_have_no_servers_to_tell_apart(tmp_path: Path) -> None:
    asked = [row | {"arrived": row["sent"] + 100 * US} for row in messages(COUNT)]
    served = [{"seq": s, "arrived": s * MS + 10 * US, "forwarded": s * MS + 90 * US} for s in range(COUNT)]
    row = analyse_trials(tmp_path, cell(pattern="rpc", work="spin:70us"), {0: asked, 1: served})
    assert (row["ideal_us"], row["excess_p50_us"], row["overhead_p50_us"]) == (pytest.approx(70), 30, 20)
    assert row["servers_roundtrip_p50_us"] is row["servers_last_share"] is row["dispatch"] is None


def test_a_codec_is_within_the_response_and_outside_the_hop(tmp_path: Path) -> None:
    sent = [row | {"encoded": row["sent"] + 10 * US} for row in messages(COUNT)]
    came = [row | {"decoded": row["arrived"] + 5 * US} for row in arrivals(range(COUNT), 50)]
    found = middle(analyse_trials(tmp_path, cell(codec="numpy"), {0: sent, 1: came}))
    assert (found["response"], found["service"], found["hop"]) == (55, 55, 40)
    assert (found["encode"], found["decode"]) == (10, 5)
    within = analyse_trials(tmp_path / "own", cell(codec="numpy", own_encoders=True), {0: sent, 1: came})
    assert within["encode_p50_us"] is within["decode_p50_us"] is None
    assert within["hop_p50_us"] == pytest.approx(50)


def test_a_stall_of_the_source_shows_in_response_and_not_in_service(tmp_path: Path) -> None:
    sent = messages(5000)
    stalled_until = 2500 * MS + 500 * MS
    for row in sent:
        if 2500 * MS <= row["due"] < stalled_until:
            row["sent"] = stalled_until + (row["due"] - 2500 * MS) // 1000
    came = [{"seq": row["seq"], "arrived": row["sent"] + 20 * US} for row in sent]
    row = analyse_trials(tmp_path, cell(), {0: sent, 1: came})
    assert row["service_p99_us"] == 20
    assert row["response_p99_us"] > 400_000
    assert row["response_p50_us"] == 20
    assert row["status"] == "ok", "it caught up: this is a stall, and not overload"


def test_negative_samples_are_counted_and_stay_in(tmp_path: Path) -> None:
    came = [{"seq": seq, "arrived": seq * MS + (-5 if seq % 4 == 0 else 50) * US} for seq in range(COUNT)]
    row = analyse_trials(tmp_path, cell(), {0: messages(COUNT), 1: came})
    assert row["response_min_us"] == -5
    assert row["response_count"] == COUNT
    assert row["negative"] == 3 * COUNT / 4, "response, service and hop"


def test_the_head_and_tail_are_trimmed_from_latency_alone(tmp_path: Path) -> None:
    count = 1200
    came = arrivals(range(count), 50)
    for row in (*came[:12], *came[-12:]):
        row["arrived"] += MS
    row = analyse_trials(tmp_path, cell(), {0: messages(count), 1: came})
    assert (row["response_max_us"], row["response_count"], row["trimmed"]) == (50, count - 24, 24)
    assert row["received"] == count


def test_trimming_never_costs_a_percentile(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), {0: messages(1000), 1: arrivals(range(1000))})
    assert (row["trimmed"], row["response_p99_us"]) == (0, 50)


def test_percentiles_are_those_of_the_pooled_samples(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    took = [random.lognormal(3, 1, 1000) for _ in range(3)]
    trials = []
    for each in took:
        came = [{"seq": s, "arrived": s * MS + int(us * US)} for s, us in enumerate(each)]
        trials.append({0: messages(1000), 1: came})
    row = analyse_trials(tmp_path, cell(trials=3), *trials)
    for column, share in {"p50": 0.5, "p90": 0.9, "p99": 0.99}.items():
        truth = np.quantile(np.concatenate(took), share, method="median_unbiased")
        assert row[f"response_{column}_us"] == pytest.approx(truth, abs=0.002)
    assert row["response_mean_us"] == pytest.approx(np.mean(took), abs=0.002)
    assert row["response_std_us"] == pytest.approx(np.std(took, ddof=1), abs=0.002)
    assert row["response_p999_us"] is None
    assert row["response_p99_low_us"] <= row["response_p99_us"] <= row["response_p99_high_us"]


def test_the_figures_of_a_chain_have_intervals(tmp_path: Path) -> None:
    trials: list[dict[int, Rows]] = [{0: messages(200), 1: arrivals(range(200), took)} for took in (49, 50, 51)]
    row = analyse_trials(tmp_path, cell(trials=3), *trials)
    for name in ("chain_per_hop_p50", "chain_per_hop_p90"):
        assert row[f"{name}_low_us"] < row[f"{name}_us"] < row[f"{name}_high_us"]
    assert row["chain_per_hop_p50_low_us"] == pytest.approx(row["response_p50_low_us"])
    few = analyse_trials(tmp_path / "few", cell(), trials[0])
    assert (few["chain_per_hop_p50_us"], few["chain_per_hop_p50_low_us"]) == (49, None)
