"""Run every pattern, pace, wait, touch and language through the real command and real nodes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.cells import MEASURED
from tests.end_to_end.conftest import CASES, MESSAGES, Measured, Row

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", CASES)
def test_every_shape_is_measured_without_loss(measured: Measured, name: str) -> None:
    row = measured.by_name[name]
    assert row["trials_good"] == 1, row["reason"]
    assert row["status"] in MEASURED, row["reason"]
    assert row["lost"] == row["duplicated"] == row["malformed"] == row["foreign"] == row["content_errors"] == 0
    assert row["cpu_us_per_message"] > 0
    assert row["library_version"]


def test_a_chain_is_seen_hop_by_hop(measured: Measured) -> None:
    row = measured.by_name["chain"]
    assert (row["sent"], row["received"]) == (MESSAGES, MESSAGES)
    assert row["hop_count"] == 3 * MESSAGES
    assert row["chain_per_hop_p50_us"] == pytest.approx(row["service_p50_us"] / 3)
    assert 0 < row["hop_min_us"] <= row["service_min_us"] <= row["response_max_us"]
    assert row["roundtrip_count"] is None
    assert row["forward"] in ("copy", "move")


def test_where_the_sender_calls_its_receiver_the_empty_hop_stands_beside_the_figure(measured: Measured) -> None:
    for name in (
        "called in one",
        "called in one, c++",
        "called in one, python",
        "both waits in one",
        "both waits in one, c++",
    ):
        assert 0 < measured.by_name[name]["empty_hop_us"] < 1000
    for name in ("callback", "thread", "open", "chain"):
        assert measured.by_name[name]["empty_hop_us"] is None, "nobody is called in the source's process"


def test_a_ring_is_a_round_trip_and_no_response(measured: Measured) -> None:
    row = measured.by_name["ring"]
    assert row["roundtrip_count"] == MESSAGES
    assert row["hop_count"] == 2 * MESSAGES
    assert row["response_count"] is row["service_count"] is row["rate_hz"] is None


@pytest.mark.parametrize("name", ["call", "native call"])
def test_a_call_passes_its_relays_there_and_back(measured: Measured, name: str) -> None:
    row = measured.by_name[name]
    assert row["received"] == row["roundtrip_count"] == row["server_count"] == row["overhead_count"] == MESSAGES
    assert row["hop_count"] == 2 * MESSAGES
    assert row["chain_per_hop_p50_us"] < row["roundtrip_p50_us"], "the request alone has half of the way"
    assert row["gather_count"] is None


def test_a_closed_call_asks_as_fast_as_it_is_answered(measured: Measured) -> None:
    row = measured.by_name["closed call"]
    assert row["rate_hz"] is None
    assert row["roundtrip_count"] == MESSAGES
    times = [(each["sent_ns"], each["arrived_ns"]) for each in measured.samples("closed call") if each["copy"] == 0]
    client = sorted(each for each in times if None not in each)
    assert all(arrived <= sent for (_, arrived), (sent, _) in pairwise(client)), "one call at a time"


@pytest.mark.parametrize("work_ms", [30, 40])
def test_a_scatter_takes_as_long_as_its_slowest_server_and_not_as_all(measured: Measured, work_ms: int) -> None:
    row = measured.by_name[f"scatter {work_ms}"]
    assert (row["sent"], row["received"], row["gather_count"]) == (3 * 25, 3 * 25, 25)
    assert row["server_min_us"] >= work_ms * 1000
    assert row["gather_min_us"] >= work_ms * 1000
    assert row["gather_p50_us"] < 2 * work_ms * 1000, "servers work at the same time"
    assert row["overhead_p50_us"] <= row["gather_p50_us"] - work_ms * 1000 + 1


@pytest.mark.parametrize(("name", "ideal_ms"), [("servers at once", 60), ("servers one by one", 110)])
def test_servers_that_sleep_differently_are_told_apart_however_they_are_asked(
    measured: Measured, name: str, ideal_ms: int
) -> None:
    row = measured.by_name[name]
    slowest, *quick = row["servers_held_p50_us"]
    assert slowest >= 60_000
    assert quick[0] >= 20_000
    assert quick[1] >= 30_000
    assert max(quick) < slowest, "each has its own work"
    assert all(answered >= held for answered, held in zip(*both(row), strict=True))
    assert row["ideal_us"] == pytest.approx(ideal_ms * 1000)
    assert row["gather_min_us"] >= ideal_ms * 1000
    assert row["excess_mean_us"] == pytest.approx(row["gather_mean_us"] - ideal_ms * 1000)
    assert row["excess_p50_us"] >= row["overhead_p50_us"], "sleepers wake late and never early"


def both(row: dict[str, Any]) -> tuple[list[float], list[float]]:
    return row["servers_roundtrip_mean_us"], row["servers_held_mean_us"]


def test_the_slowest_server_is_the_last_and_sequentially_nobody_is(measured: Measured) -> None:
    shares = measured.by_name["servers at once"]["servers_last_share"]
    assert sum(shares) == pytest.approx(1)
    assert shares[0] > 0.5, "it sleeps twice as long as the others"
    assert measured.by_name["servers one by one"]["servers_last_share"] is None


def test_servers_called_one_by_one_are_asked_when_the_one_before_has_answered(measured: Measured) -> None:
    asked: dict[int, dict[int, Row]] = {}
    for each in measured.samples("servers one by one"):
        if each["endpoint"] == 0:
            asked.setdefault(each["seq"], {})[each["copy"]] = each
    assert len(asked) == 20
    for servers in asked.values():
        assert all(servers[n]["arrived_ns"] <= servers[n + 1]["sent_ns"] for n in (0, 1))


def test_pairs_and_receivers_multiply_what_arrives(measured: Measured) -> None:
    pairs, fan_out = measured.by_name["pairs"], measured.by_name["fan-out"]
    assert pairs["sent"] == pairs["received"] == pairs["response_count"] == 2 * MESSAGES
    assert (fan_out["sent"], fan_out["received"]) == (MESSAGES, 3 * MESSAGES)
    assert (fan_out["hop_count"], fan_out["response_count"]) == (3 * MESSAGES, MESSAGES)


def test_sinks_that_wait_differently_are_told_apart(measured: Measured) -> None:
    row = measured.by_name["both waits"]
    assert (row["wait"], row["sinks_received"]) == ("callback+block", [MESSAGES, MESSAGES])
    assert len(row["sinks_service_p50_us"]) == 2
    assert row["service_max_us"] >= max(row["sinks_service_max_us"])


@pytest.mark.parametrize("name", ["both waits in one", "both waits in one, c++"])
def test_who_waits_has_to_wait_for_the_callback_before_it(measured: Measured, name: str) -> None:
    called_us, waited_us = measured.by_name[name]["sinks_service_min_us"]
    assert waited_us >= 3000, "memory calls first, and wakes who waits when the call has returned"
    assert called_us < waited_us


def gaps_ns(measured: Measured, name: str) -> list[int]:
    """Return the intervals between the due times of the source's messages."""
    source = [each["due_ns"] for each in measured.samples(name) if each["endpoint"] == 0]
    assert len(source) == MESSAGES
    return [later - earlier for earlier, later in pairwise(source)]


def test_an_open_schedule_is_absolute(measured: Measured) -> None:
    assert set(gaps_ns(measured, "open")) == {2_000_000}


def test_a_poisson_schedule_has_the_rate_and_no_rhythm(measured: Measured) -> None:
    gaps = gaps_ns(measured, "poisson")
    assert len(set(gaps)) > MESSAGES // 2
    assert 1_000_000 < sum(gaps) / len(gaps) < 4_000_000


def test_bursts_are_due_together_at_the_rate_in_all(measured: Measured) -> None:
    gaps = gaps_ns(measured, "burst")
    assert gaps.count(0) == MESSAGES * 3 // 4
    assert {gap for gap in gaps if gap} == {8_000_000}


@pytest.mark.parametrize("language", ["rust", "c++", "python"])
def test_the_due_times_of_a_ramp_integrate_its_rate_in_every_language(measured: Measured, language: str) -> None:
    length_s = MESSAGES / 750
    due_s = [sum(gaps_ns(measured, f"ramp, {language}")[:number]) / 1e9 for number in range(MESSAGES)]
    for number, t in enumerate(due_s):
        assert 500 * t + 500 * t**2 / (2 * length_s) == pytest.approx(number, abs=1e-3)


def test_max_has_no_schedule(measured: Measured) -> None:
    row = measured.by_name["max"]
    assert row["rate_hz"] is row["pacing_error_p50_us"] is None
    assert row["achieved_hz"] > 0


def test_a_relay_that_copies_tells_how_long_it_takes(measured: Measured) -> None:
    for name in ("copy", "copy of the frame"):
        assert measured.by_name[name]["copy_count"] == MESSAGES


def test_languages_are_told_as_they_spoke(measured: Measured) -> None:
    assert [measured.by_name[name]["language"] for name in ("c++", "rust>python", "python>c++")] == [
        "c++",
        "rust>python",
        "python>c++",
    ]


def test_every_cell_has_the_floor_of_its_own_shape(measured: Measured) -> None:
    unix, floor = measured.by_name["open"], next(row for row in measured.rows if row["cell"] == open_floor(measured))
    assert (floor["transport"], floor["language"]) == ("shm", "rust")
    assert all(floor[key] == unix[key] for key in ("pattern", "wait", "cores", "payload", "touch", "rate_hz", "relays"))
    if floor["status"] == "ok":
        assert unix["floor_us"] == floor["median_us"]
        assert unix["times_floor"] == pytest.approx(unix["response_p50_us"] / unix["floor_us"])


def open_floor(measured: Measured) -> str:
    return str(measured.by_name["open"]["floor"])
