"""Tests for the ranking of whole workloads: which pairs each criterion decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hopmeter.model.workload import Workload
from tests.workload_runs import WORKLOAD, Made, make_run, whole_rows

CALM = {"frames": [900.0, 910, 890, 905, 902, 898], "commands": [200.0, 203, 197, 201, 199, 202]}
CPU = [20.0, 20.3, 19.8, 20.1, 20.2, 19.9]
NONE = [0] * 6


def scale(values: list[float], factor: float) -> list[float]:
    """Return the values scaled by a factor, with independent noise."""
    return [factor * value * (1 + 0.004 * (-1) ** at) for at, value in enumerate(values)]


def values(run_of: dict[str, Made], *names: str, **more: Any) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(row[each] for each in names) for name, row in whole_rows(make_run(run_of, **more)).items()}


def test_deadlines_rank_first_whatever_p99_and_cpu_say() -> None:
    slow = {name: scale(each, 3) for name, each in CALM.items()}
    made = {"late": Made([200, 210, 190, 205, 195, 202], CALM, CPU), "punctual": Made(NONE, slow, scale(CPU, 5))}
    found = values(made, "rank_low", "rank_high", "decided_by")
    assert found == {"late": (2, 2, "deadlines"), "punctual": (1, 1, None)}


def test_the_worst_p99_ranks_transports_that_keep_the_deadlines_alike() -> None:
    slower = CALM | {"commands": scale(CALM["commands"], 2)}
    made = {"slow": Made(NONE, slower, CPU), "fast": Made(NONE, CALM, scale(CPU, 5))}
    found = values(made, "rank_low", "decided_by", "worst_flow")
    assert found["slow"] == (2, "p99", "commands") and found["fast"][:2] == (1, None)
    ratio, low, high = values(made, *(f"worst_p99_ratio{end}" for end in ("", "_low", "_high")))["slow"]
    assert ratio == pytest.approx(2, rel=0.02) and 1 < low < ratio < high < 4
    assert values(made, "worst_p99_ratio")["fast"] == (1.0,)


@pytest.mark.parametrize(
    ("clock_us", "decides"), [((50, 10), True), ((5000, 10), True), ((50, 150), False), ((5000, 150), False)]
)
def test_a_worst_p99_between_hosts_is_judged_by_the_residual(clock_us: tuple[float, float], *, decides: bool) -> None:
    slower = {"frames": scale(CALM["frames"], 1.5), "commands": scale(CALM["commands"], 2)}
    made = {"slow": Made(NONE, slower, CPU, clock_us=clock_us), "fast": Made(NONE, CALM, CPU, clock_us=clock_us)}
    found = values(made, "decided_by", "worst_p99_ratio_high")
    assert found["slow"][0] == ("p99" if decides else None)
    assert (found["slow"][1] is None) == (clock_us[0] > 200), "the best p99 may be zero, so the ratio has no upper end"


def test_different_worst_flows_between_hosts_are_judged_by_the_whole_uncertainty() -> None:
    one = CALM | {"frames": scale(CALM["frames"], 2)}
    other = CALM | {"commands": scale(CALM["commands"], 4)}
    for clock_us, decides in (((5.0, 1.0), "p99"), ((1000.0, 1.0), None)):
        made = {name: Made(NONE, own, CPU, clock_us=clock_us) for name, own in (("one", one), ("other", other))}
        made["best"] = Made(NONE, CALM, CPU, clock_us=clock_us)
        ranking = next(iter(make_run(made).workload_rankings.values()))
        ids = {cell.split("-")[1]: cell for cell in ranking.choices}
        pair = ranking.pair("p99", ids["one"], ids["other"])
        assert pair is not None and pair.decided == (decides is not None)


@pytest.mark.parametrize(("doubtful", "decides"), [(0, True), (20, True), (210, False)])
def test_deadlines_between_hosts_decide_only_at_both_ends_of_what_the_clocks_allow(
    doubtful: int, *, decides: bool
) -> None:
    late = Made([200, 210, 190, 205, 195, 202], CALM, CPU, doubtful=doubtful)
    punctual = Made(NONE, CALM, CPU)
    found = values({"late": late, "punctual": punctual}, "decided_by")
    assert found["late"] == (("deadlines" if decides else None),)


def test_cpu_ranks_transports_that_are_alike_in_both() -> None:
    alike = {name: scale(each, 1.001) for name, each in CALM.items()}
    made = {"hungry": Made(NONE, alike, scale(CPU, 2)), "frugal": Made(NONE, CALM, CPU)}
    assert values(made, "rank_low", "rank_high", "decided_by") == {"hungry": (2, 2, "cpu"), "frugal": (1, 1, None)}


def test_transports_that_are_alike_in_everything_share_their_ranks() -> None:
    alike = {name: scale(each, 1.001) for name, each in CALM.items()}
    made = {"one": Made(NONE, CALM, CPU), "other": Made(NONE, alike, scale(CPU, 1.001))}
    assert set(values(made, "rank_low", "rank_high", "decided_by").values()) == {(1, 2, None)}


def test_the_worst_flows_of_two_transports_may_differ() -> None:
    one = CALM | {"frames": scale(CALM["frames"], 2)}
    other = CALM | {"commands": scale(CALM["commands"], 4)}
    made = {"one": Made(NONE, one, CPU), "other": Made(NONE, other, CPU), "best": Made(NONE, CALM, CPU)}
    found = values(made, "worst_flow", "rank_low", "rank_high")
    assert found["one"] == ("frames", 2, 2) and found["other"] == ("commands", 3, 3)
    assert found["best"][1:] == (1, 1)


def test_references_and_failed_transports_have_no_rank() -> None:
    made = {
        "library": Made(NONE, CALM, CPU),
        "other": Made(NONE, CALM, scale(CPU, 2)),
        "reference": Made(NONE, CALM, scale(CPU, 0.5), installable=False),
        "broken": Made(NONE, CALM, CPU, status="failed"),
    }
    found = values(made, "rank_low", "rank_high", "worst_p99_ratio")
    assert found["library"][:2] == (1, 1) and found["other"][:2] == (2, 2)
    assert found["reference"][:2] == (None, None) and found["reference"][2] == pytest.approx(1)
    assert found["broken"] == (None, None, None)


def test_a_workload_without_deadlines_is_ranked_by_its_worst_p99() -> None:
    flows = tuple(replace(flow, deadline_s=None) for flow in WORKLOAD.flows)
    made = {
        "slow": Made(NONE, {name: scale(each, 2) for name, each in CALM.items()}, CPU),
        "fast": Made(NONE, CALM, CPU),
    }
    run = make_run(made, Workload(WORKLOAD.participants, flows))
    (ranking,) = run.workload_rankings.values()
    assert list(ranking.pairs) == ["p99", "cpu"]
    assert whole_rows(run)["slow"]["decided_by"] == "p99"


def test_flows_without_a_p99_everywhere_are_left_out() -> None:
    made = {"one": Made(NONE, {"frames": CALM["frames"]}, CPU), "other": Made(NONE, CALM, CPU)}
    assert values(made, "worst_flow") == {"one": ("frames",), "other": ("frames",)}


def test_lost_messages_are_later_than_all_others() -> None:
    lossy: dict[str, Any] = CALM | {"frames": [None] * 6}
    made = {"lossy": Made(NONE, lossy, CPU), "safe": Made(NONE, CALM, CPU)}
    found = values(made, "worst_flow", "decided_by")
    assert found["lossy"] == ("frames", "p99")


def test_two_rounds_decide_nothing() -> None:
    made = {
        "late": Made([200, 210], {name: each[:2] for name, each in CALM.items()}, CPU[:2]),
        "punctual": Made([0, 0], {name: each[:2] for name, each in CALM.items()}, CPU[:2]),
    }
    assert set(values(made, "rank_low", "rank_high").values()) == {(1, 2)}
