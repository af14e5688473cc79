"""The warm-up of a workload: how long all flows send before messages count, and how much each flow sends in that
time."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hopmeter.scenario.workload import Flow

WARMUP_S = 0.2
"""The least duration of a warm-up in seconds."""
WARMUP_MESSAGES = 2
"""The number of messages that the slowest relevant flow sends in the warm-up, unless `WARMUP_SHARE` limits it."""
WARMUP_SHARE = 0.2
"""The longest warm-up, as a share of the time in which messages count. A flow with a longer period does not extend the
warm-up."""
ROUNDING = 1e-9


def warmup_s(flows: Mapping[str, Flow], duration_s: float) -> float:
    """Return the duration of the warm-up in seconds."""
    most_s = WARMUP_SHARE * duration_s
    periods_s = [flow.burst / flow.rate for flow in flows.values() if flow.rate]
    wanted_s = [min(WARMUP_MESSAGES * period_s, most_s) for period_s in periods_s if period_s <= most_s + ROUNDING]
    return float(max([WARMUP_S, *wanted_s]))


def warmup_messages(flow: Flow, spent_s: float) -> int:
    """Return how many messages a flow with a schedule sends in the warm-up; bursts are not divided."""
    return int(math.floor((flow.rate or 0.0) * spent_s / flow.burst + ROUNDING) * flow.burst)


def first_due_s(flow: Flow, spent_s: float) -> float:
    """Return when the first message of a flow is due, chosen so that its first message that counts is due at the end of
    the warm-up."""
    return max(0.0, spent_s - warmup_messages(flow, spent_s) / flow.rate) if flow.rate else 0.0
