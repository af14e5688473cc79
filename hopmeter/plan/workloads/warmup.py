"""Compute the length of a workload's warm-up, and how many messages each flow sends during the warm-up."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hopmeter.scenario.workload import Flow

WARMUP_S = 0.2
"""The minimum duration of a warm-up, in seconds."""
WARMUP_MESSAGES = 2
"""The number of messages that the slowest flow should send during the warm-up, within the limit of `WARMUP_SHARE`."""
WARMUP_SHARE = 0.2
"""The maximum length of the warm-up, as a fraction of the measurement. Flows with a longer period than this do not
extend the warm-up."""
ROUNDING = 1e-9


def warmup_s(flows: Mapping[str, Flow], duration_s: float) -> float:
    """Return the duration of the warm-up in seconds."""
    most_s = WARMUP_SHARE * duration_s
    periods_s = [flow.burst / flow.rate for flow in flows.values() if flow.rate]
    wanted_s = [min(WARMUP_MESSAGES * period_s, most_s) for period_s in periods_s if period_s <= most_s + ROUNDING]
    return float(max([WARMUP_S, *wanted_s]))


def warmup_messages(flow: Flow, spent_s: float) -> int:
    """Return how many messages a flow with a schedule sends during the warm-up, rounded to whole bursts."""
    return int(math.floor((flow.rate or 0.0) * spent_s / flow.burst + ROUNDING) * flow.burst)


def first_due_s(flow: Flow, spent_s: float) -> float:
    """Return the time at which a flow's first message is due, chosen so that the first measured message is due when the
    warm-up ends."""
    return max(0.0, spent_s - warmup_messages(flow, spent_s) / flow.rate) if flow.rate else 0.0
