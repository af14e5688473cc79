"""The slowest relevant flow of a workload determines the warm-up, which takes at most a fifth of the measured time."""

from __future__ import annotations

import pytest

from hopmeter.plan.workloads.warmup import first_due_s, warmup_messages, warmup_s
from hopmeter.scenario.workload import Flow


def flows(*rates: float, burst: int = 1) -> dict[str, Flow]:
    each = {"from": "a", "to": ["b"], "burst": burst}
    return {f"f{number}": Flow.model_validate({**each, "rate": rate}) for number, rate in enumerate(rates)}


@pytest.mark.parametrize(
    ("rates", "duration_s", "expected_s"),
    [
        ([50], 5, 0.2),
        ([50, 5], 5, 0.4),
        ([2, 1000], 5, 1.0),
        ([1, 50], 5, 1.0),
        ([1 / 60, 50], 5, 0.2),
        ([1 / 60, 50, 4], 5, 0.5),
        ([1 / 60, 1e-6, 10, 1000, 3], 5, 2 / 3),
        ([1 / 60, 50], 600, 120),
        ([1 / 600], 5, 0.2),
        ([], 5, 0.2),
        ([50], 0.5, 0.2),
        ([1, 2, 5], 0.1, 0.2),
    ],
)
def test_a_rare_flow_does_not_lengthen_the_warm_up(rates: list[float], duration_s: float, expected_s: float) -> None:
    assert warmup_s(flows(*rates), duration_s) == pytest.approx(expected_s)


@pytest.mark.parametrize("rate", [1 / 600, 0.7, 1, 3, 7, 33.3, 50, 1000])
def test_the_first_message_that_counts_of_every_flow_is_due_at_the_end_of_the_warm_up(rate: float) -> None:
    spent_s, flow = 0.5, flows(rate)["f0"]
    assert first_due_s(flow, spent_s) + warmup_messages(flow, spent_s) / rate == pytest.approx(spent_s)
    assert 0 <= first_due_s(flow, spent_s) < 1 / rate + 1e-9


def test_a_flow_in_bursts_warms_up_with_whole_bursts() -> None:
    assert warmup_messages(flows(100, burst=8)["f0"], 0.5) == 48
    assert warmup_s(flows(20, burst=10), 5) == 1, "two periods of bursts"
