"""Tests for latencies between hosts with a known clock offset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.analysis.latency import trial_pairs
from hopmeter.analysis.latency.arrivals import Times
from hopmeter.analysis.latency.clock_claims import claim_ranking, coarse_deadline_warning, widen_ratio
from hopmeter.analysis.latency.deadlines import MissedCount, judge_deadline, missed_columns
from hopmeter.model.cell import Cell
from hopmeter.plan.topology import Topology
from hopmeter.plan.topology import topology as plan_topology
from hopmeter.statistics import Observation, fit
from hopmeter.store.clock_file import add_clocks
from hopmeter.store.run_folder import RunFolder
from tests.analysis.made import MS, US, Rows, cell, keep, run_of
from tests.clocks.simulated import HERE, SECOND, Clock, Network, Plain, array, clock
from tests.coded import lacking

AHEAD = 1000 * SECOND
FAST = clock(AHEAD, fast_ppm=30)
TOOK_US = 200
MESSAGES = 300
BEGINS = (7 * SECOND, 12 * SECOND, 17 * SECOND, 22 * SECOND, 27 * SECOND)
Place = Callable[[Mapping[int, str]], None]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    def on(hosts: Mapping[int, str]) -> None:
        def place_endpoints(one: Cell) -> Topology:
            made = plan_topology(one)
            return replace(made, endpoints=tuple(replace(each, host=hosts[each.id]) for each in made.endpoints))

        monkeypatch.setattr(trial_pairs, "topology", place_endpoints)

    return on


def rows(begin: int, there: Clock = FAST, took_us: float = TOOK_US) -> dict[int, Rows]:
    """Return the rows of a trial whose messages take the given time, with timestamps from the clocks of both hosts."""
    due = [begin + seq * MS for seq in range(MESSAGES)]
    sent = [{"seq": seq, "due": HERE(at), "sent": HERE(at)} for seq, at in enumerate(due)]
    jitter = np.random.default_rng(begin).integers(-20, 20, MESSAGES)
    came = [round((took_us + each) * US) for each in jitter]
    return {0: sent, 1: [{"seq": seq, "arrived": there(due[seq] + came[seq])} for seq in range(MESSAGES)]}


def store(folder: RunFolder, network: Network) -> None:
    for batch in network.batches(8):
        add_clocks(folder.path, batch)


def analyse(
    results: Path, network: Network | None, there: Clock = FAST, took_us: float = TOOK_US
) -> tuple[dict[str, Any], RunFolder]:
    one = cell()
    folder = run_of(results, one)
    if network:
        store(folder, network)
    keep(folder, one, [rows(begin, there, took_us) for begin in BEGINS])
    return analyse_run(folder)[0], folder


def test_a_one_way_latency_is_measured_within_the_uncertainty_of_the_clocks(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "beta"})
    row, _ = analyse(tmp_path, Plain(1, HERE, FAST))
    assert row["status"] == "ok"
    assert 10 < row["clock_uncertainty_us"] < 40
    assert row["clock_residual_us"] < 2
    assert abs(row["response_p50_us"] - TOOK_US) <= row["clock_uncertainty_us"]
    assert row["median_low_us"] <= TOOK_US - row["clock_uncertainty_us"] / 2
    assert row["median_high_us"] >= TOOK_US + row["clock_uncertainty_us"] / 2
    assert row["hop_p50_us"] == pytest.approx(row["service_p50_us"], abs=0.1)


def test_a_cell_on_one_host_has_no_clock_uncertainty(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "alpha"})
    row, _ = analyse(tmp_path, Plain(1, HERE, FAST), there=HERE)
    assert row["clock_uncertainty_us"] is None
    assert row["response_p50_us"] == pytest.approx(TOOK_US, abs=5)


def test_the_trial_in_which_a_clock_was_set_fails_by_name_and_the_others_count(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "beta"})
    jumps = clock(AHEAD, jump_ns=500 * US, jump_at_ns=BEGINS[2] + MS)
    row, folder = analyse(tmp_path, Plain(1, HERE, jumps), jumps)
    assert row["trials_good"] == 4
    assert "1 of 5 trials failed: the clocks of alpha and beta moved by" in row["reason"]
    failed = [each for each in folder.trials if folder._verdict(each)["good"] is False]
    assert [each.trial for each in failed] == [2]
    assert abs(row["response_p50_us"] - TOOK_US) <= row["clock_uncertainty_us"]


def test_without_a_comparison_of_the_clocks_nothing_is_measured(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "beta"})
    row, _ = analyse(tmp_path, None)
    assert (row["status"], row["reason_code"]) == ("failed", "E-CLOCK-UNKNOWN")


def test_a_damaged_file_of_clocks_is_named(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "beta"})
    folder = run_of(tmp_path, cell())
    (folder.path / "clocks.jsonl").write_text("[]\n")
    keep(folder, cell(), [rows(begin) for begin in BEGINS])
    assert analyse_run(folder)[0]["reason_code"] == "E-FILE-DAMAGED"


class OneSlowWay(Plain):
    """Clock exchanges with an asymmetric delay: one direction takes 1 ms longer, so the offset is wrong by 0.5 ms."""

    def delay_ns(self, direction: int) -> int:
        return super().delay_ns(direction) + (0 if direction else MS)


def test_a_latency_below_the_uncertainty_is_not_claimed(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "beta"})
    row, _ = analyse(tmp_path, OneSlowWay(1, HERE, FAST), took_us=700)
    assert "W-CLOCK-COARSE" in row["warning_codes"]
    assert row["median_low_us"] < 700 < row["median_high_us"]


def test_a_deadline_below_the_uncertainty_is_named_and_a_longer_one_is_not() -> None:
    known = {"clock_uncertainty_us": 20.0, "deadline_us": 10.0}
    (flow,) = coarse_deadline_warning(cell(flow="frames"), known)
    assert lacking(flow, "W-CLOCK-DEADLINE flow.frames.deadline 10 20") == []
    (path,) = coarse_deadline_warning(cell(path="reaction"), known)
    assert lacking(path, "W-CLOCK-DEADLINE path.reaction.deadline") == []
    for other in ({"deadline_us": 30.0}, {"deadline_us": None}, {"clock_uncertainty_us": None}):
        assert coarse_deadline_warning(cell(flow="frames"), known | other) == []


def test_transports_are_told_apart_although_no_level_is_known(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "beta"})
    both = [cell(id=name, transport=name, trials=len(BEGINS)) for name in ("zeromq", "nng")]
    folder = run_of(tmp_path, *both)
    store(folder, OneSlowWay(1, HERE, FAST))
    for number, begin in enumerate(BEGINS):
        for one, took_us in zip(both, (700, 760), strict=True):
            keep_round(folder, one, number, rows(begin, took_us=took_us))
    first, second = analyse_run(folder)
    assert (first["rank_low"], first["rank_high"]) == (1, 1)
    assert (second["rank_low"], second["rank_high"]) == (2, 2)
    assert second["ratio_to_best_low"] > 1
    assert second["ratio_to_best_high"] is None, "the best level may be zero, so the ratio has no upper end"


def keep_round(folder: RunFolder, one: Cell, number: int, trial: dict[int, Rows]) -> None:
    from hopmeter.model.trial import TrialResult
    from tests.store.raw import write_raw

    files = [write_raw(folder.path / f"{who}.raw", who, each) for who, each in trial.items()]
    folder.add_trial(TrialResult(one.id, number, good=True, round=number), files)


def test_a_call_keeps_its_round_trip_and_claims_no_hop_below_the_uncertainty(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "beta"})
    one = cell(pattern="rpc")
    for network, hop_us in ((Plain(1, HERE, FAST), 100), (OneSlowWay(1, HERE, FAST), None)):
        folder = run_of(tmp_path / str(hop_us), one)
        store(folder, network)
        keep(folder, one, [call(begin) for begin in BEGINS])
        row = analyse_run(folder)[0]
        assert row["roundtrip_p50_us"] == pytest.approx(300)
        assert row["server_p50_us"] == pytest.approx(50, abs=0.1)
        assert row["clock_uncertainty_us"] is None, "the latency that ranks calls begins and ends at the client"
        assert row["hop_p50_us"] == (None if hop_us is None else pytest.approx(hop_us, abs=30))
        assert (row["chain_per_hop_p50_us"] is None) == (hop_us is None)


def call(begin: int) -> dict[int, Rows]:
    due = [begin + seq * MS for seq in range(MESSAGES)]
    client = [{"seq": seq, "due": at, "sent": at, "arrived": at + 300 * US} for seq, at in enumerate(due)]
    times = [(FAST(at + 100 * US), FAST(at + 150 * US)) for at in due]
    return {0: client, 1: [{"seq": seq, "arrived": came, "forwarded": left} for seq, (came, left) in enumerate(times)]}


def test_a_hop_within_one_host_is_exact_beside_a_hop_between_hosts(tmp_path: Path, place: Place) -> None:
    place({0: "alpha", 1: "beta", 2: "beta"})
    folder = run_of(tmp_path, cell(relays=1))
    store(folder, Plain(1, HERE, FAST))
    trial = rows(BEGINS[0])
    for each in trial[1]:
        each["forwarded"] = each["arrived"] + 10 * US
    trial[2] = [{"seq": each["seq"], "arrived": each["forwarded"] + 7 * US} for each in trial[1]]
    keep(folder, cell(relays=1), [trial])
    row = analyse_run(folder)[0]
    assert row["hop_min_us"] == pytest.approx(7, abs=0.001)
    assert abs(row["service_p50_us"] - TOOK_US - 17) <= row["clock_uncertainty_us"]


def test_a_deadline_is_judged_with_all_errors_that_the_clocks_may_have() -> None:
    due: Times = array([0] * 100)
    done: Times = array([each * 10 * US for each in range(100)])
    counted = judge_deadline(due, done, 500e-6, 100e3)
    assert (counted.missed, counted.bounds) == (49, (39, 59))
    assert judge_deadline(due, done, 500e-6).bounds == (49, 49)
    sure, unsure = (missed_columns(0.0005, [each] * 5) for each in (MissedCount(100, 49, 49), counted))
    assert sure["missed_share"] == unsure["missed_share"]
    assert unsure["missed_share_low"] == pytest.approx(sure["missed_share_low"] - 0.1, abs=0.01)
    assert unsure["missed_share_high"] == pytest.approx(sure["missed_share_high"] + 0.1, abs=0.01)
    assert (counted + counted).bounds == (78, 118)


def ranking(residual_us: float, uncertainty_us: float = 20.0) -> Any:
    rng = np.random.default_rng(1)
    seen = [
        Observation(name, number, level + float(rng.normal(0, 1)))
        for number in range(10)
        for name, level in (("a", 100.0), ("b", 130.0))
    ]
    row = {"clock_uncertainty_us": uncertainty_us, "clock_residual_us": residual_us}
    return claim_ranking(fit(seen), {"a": row, "b": row})


def test_a_difference_is_decided_by_the_residual_and_a_level_by_the_whole_uncertainty() -> None:
    clear, unclear, plain = ranking(5), ranking(20), claim_ranking(ranking(0, 0), {})
    assert clear.pairs[0].decided
    assert clear.ranks == {"a": (1, 1), "b": (2, 2)}
    assert not unclear.pairs[0].decided
    assert unclear.ranks == {"a": (1, 2), "b": (1, 2)}
    assert clear.levels["a"][1] == pytest.approx(plain.levels["a"][1] - 20)
    assert clear.levels["a"][2] == pytest.approx(plain.levels["a"][2] + 20)


@pytest.mark.parametrize("seed", range(50))
def test_the_interval_of_a_ratio_contains_what_the_errors_of_the_clocks_make_of_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = rng.uniform(100, 1000, 2)
    a, b = sorted(true)
    whole, residual = rng.uniform(0, 90), rng.uniform(0, 8)
    common, own = rng.uniform(-whole, whole), rng.uniform(-residual, residual) / 2
    measured_a, measured_b = a + common + own, b + common - own
    low, high = widen_ratio((measured_b / measured_a,) * 2, measured_a, whole, residual)
    assert low is not None
    assert low <= b / a + 1e-9
    assert high is None or b / a <= high + 1e-9


def test_a_ratio_without_an_interval_stays_without_one() -> None:
    assert widen_ratio((None, None), 100, 5, 1) == (None, None)
    assert widen_ratio((0.9, 1.2), 10, 50, 1) == (0.0, None)
