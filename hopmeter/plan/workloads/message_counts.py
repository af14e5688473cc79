"""Compute how many messages each flow of a workload sends in a trial."""

from __future__ import annotations

from collections.abc import Mapping

from hopmeter.model.condition_values import rates_of_keys
from hopmeter.model.paces import MOST_UNSCHEDULED_MESSAGES
from hopmeter.plan.workloads.warmup import warmup_messages, warmup_s
from hopmeter.scenario import Scenario
from hopmeter.scenario.flow_faults import causes
from hopmeter.scenario.workload import Flow

MOST_RETURNS_HZ = 200_000
"""The highest rate for which memory is reserved if a flow waits until its messages return."""
Count = tuple[int, int]
"""The number of measured messages and the number of warm-up messages."""


def message_counts(scenario: Scenario, duration_s: float, known: Mapping[str, Count]) -> dict[str, Count]:
    """Return how many messages each flow sends. For a flow without a schedule, the numbers are upper limits.

    `known` contains the numbers of messages of those flows that replay a recording.
    """
    counts = dict(known)
    for name in scenario.flow:
        _add(name, scenario, duration_s, counts)
    return counts


def _add(name: str, scenario: Scenario, duration_s: float, counts: dict[str, Count]) -> Count:
    """Add to `counts` the message counts of a flow, and of the flows that cause its messages."""
    if name not in counts:
        flow = scenario.flow[name]
        if rates := rates_of_keys(dict(flow)):
            spent_s = warmup_s(scenario.flow, duration_s)
            counts[name] = max(1, round(rates.mean_hz * duration_s)), warmup_messages(flow, spent_s)
        elif flow.returns:
            counts[name] = min(MOST_UNSCHEDULED_MESSAGES, round(MOST_RETURNS_HZ * duration_s)), 0
        else:
            counts[name] = _sum_causes(flow, [_add(each, scenario, duration_s, counts) for each in causes(flow)])
    return counts[name]


def _sum_causes(flow: Flow, by: list[Count]) -> Count:
    samples = [each for each, _ in by]
    together = min(samples) if flow.join == "all" else sum(samples)
    return max(1, together // flow.every) * flow.repeat, by[0][1] * flow.repeat
