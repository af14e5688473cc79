"""Check whether a trial achieved the requested rate. Overload must not be reported as latency; docs/method.md has the
rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hopmeter.analysis.latency.arrivals import Times, minus
from hopmeter.analysis.latency.pair import Pair
from hopmeter.analysis.latency.waits import limit_ns, median, response, throughout, waiting_times
from hopmeter.model.condition_values import rates_of
from hopmeter.store.samples import NONE_NS

SHARE = 0.99
"""The share of the requested rate that must be reached, on average and at the end of the trial."""
PARTS = 5
"""The number of parts of a trial that are compared to detect a growing backlog."""
LEAST = 20
"""With fewer messages a trend is meaningless."""


@dataclass(frozen=True)
class AchievedPace:
    """The pace of one pair in one trial."""

    achieved_hz: float | None
    """Messages per second that the transport accepted."""
    reached_hz: float | None
    """The same rate during the part in which messages were due at the highest rate."""
    asked_hz: float | None
    """Messages per second that were due in that part, including the random variation of `poisson`."""
    behind: bool
    """Whether the source fell behind its schedule permanently."""
    backlog: bool
    """Whether the messages waited longer and longer."""
    seconds: float
    """The time from the first due time to the last arrival."""
    period_ns: float = 0.0
    """The time between the due times of two messages, or of two bursts."""
    queued_ns: float = 0.0
    """The median time that messages waited for others if they waited throughout the trial; otherwise 0."""
    long_ns: float = 0.0
    """The median response if many messages became due during each response, throughout the trial; otherwise 0."""
    growth: float = 0.0
    """The growth of the response in seconds per second of the schedule if there is a backlog; otherwise 0."""


def measure_pace(pair: Pair) -> AchievedPace:
    """Measure the pace of a pair. Whether the pair keeps up is judged while messages are due at the highest rate."""
    begun_ns = _earliest(_known_times(pair.due_times))
    achieved_hz, span_ns = _rate(_known_times(pair.send_times), begun_ns)
    seconds = max(span_ns, int(pair.completion_times.max(initial=begun_ns)) - begun_ns) / 1e9
    return _judge(pair, _fastest_part(pair), achieved_hz, seconds)


def _fastest_part(pair: Pair) -> slice:
    """Return the messages that are due at the highest rate: all of them, or the fastest fifth of a changing rate."""
    rates = rates_of(pair.cell.axes)
    if rates is None or rates.first_hz == rates.last_hz:
        return slice(None)
    many = pair.messages // PARTS
    return slice(pair.messages - many, None) if rates.first_hz < rates.last_hz else slice(many)


def _judge(pair: Pair, part: slice, achieved_hz: float | None, seconds: float) -> AchievedPace:
    sent, planned, done = (each[part] for each in (pair.send_times, pair.due_times, pair.completion_times))
    known, due = _known_times(sent), _known_times(planned)
    reached_hz, _ = _rate(known, _earliest(due))
    asked_hz, asked_ns = _rate(due, _earliest(due))
    scheduled = pair.cell.axes.pacing.is_scheduled and len(known) >= LEAST
    behind = scheduled and _behind(reached_hz, asked_hz, _medians(sent, planned), asked_ns)
    responses = _medians(done, planned)
    backlog = scheduled and _backlog(responses, asked_ns, len(due))
    growth = (responses[-1] - responses[0]) / (asked_ns * (1 - 1 / PARTS)) if backlog else 0.0
    period_ns = asked_ns / max(len(due) - 1, 1) * pair.cell.axes.burst
    queued_ns, long_ns = _standing(pair, part, period_ns) if scheduled else (0.0, 0.0)
    asked_hz = asked_hz if scheduled else None
    return AchievedPace(
        achieved_hz, reached_hz, asked_hz, behind, backlog, seconds, period_ns, queued_ns, long_ns, growth
    )


def _standing(pair: Pair, part: slice, period_ns: float) -> tuple[float, float]:
    """Return the median wait and the median response; each is 0 unless it was long in every fifth of the messages."""
    limit = limit_ns(pair, period_ns)
    spans = (waiting_times(pair)[part], response(pair)[part])
    queued_ns, long_ns = (median(each) if throughout(each, limit, PARTS) else 0.0 for each in spans)
    return queued_ns, long_ns


def _known_times(times: Times) -> Times:
    known: Times = times[times != NONE_NS]
    return known


def _earliest(due: Times) -> int:
    return int(due.min()) if len(due) else 0


def _rate(times: Times, begun_ns: int) -> tuple[float | None, int]:
    """Return the rate since the first due time, and the time span. A source that starts late and catches up must not
    appear faster than requested."""
    span = int(times.max()) - begun_ns if len(times) > 1 else 0
    return ((len(times) - 1) * 1e9 / span if span else None), span


def _medians(end: Times, start: Times) -> list[float]:
    """Return the median delay of each fifth of the messages; empty if any fifth has no messages."""
    fifths = zip(np.array_split(end, PARTS), np.array_split(start, PARTS), strict=True)
    delays = [minus(*fifth) for fifth in fifths]
    return [float(np.median(each)) for each in delays] if all(len(each) for each in delays) else []


def _behind(achieved_hz: float | None, asked_hz: float | None, lateness: list[float], asked_ns: int) -> bool:
    """Return whether the rate is too low and the last messages are late. A single late message at the end is not a
    lower rate."""
    if achieved_hz is None or asked_hz is None or not lateness:
        return False
    return achieved_hz < SHARE * asked_hz and lateness[-1] > (1 - SHARE) * asked_ns


def _backlog(responses: list[float], asked_ns: int, messages: int) -> bool:
    """Return whether the response never decreases from fifth to fifth, and grows in total by at least 1 % of the
    schedule and by one period."""
    if not responses:
        return False
    growth = responses[-1] - responses[0]
    steady = all(later >= earlier for earlier, later in pairwise(responses))
    return steady and growth > max((1 - SHARE) * asked_ns, asked_ns / max(messages - 1, 1))
