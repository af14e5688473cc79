"""Check whether a trial achieved the requested rate, so that overload is not reported as latency. docs/method.md has
the rules."""

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
"""The fraction of the requested rate that a source must reach, both on average and at the end of the trial."""
PARTS = 5
"""A trial is divided into this many parts to detect a growing backlog."""
LEAST = 20
"""The minimum number of messages from which a growing backlog can be detected."""


@dataclass(frozen=True)
class AchievedPace:
    """The rate that one pair achieved in one trial."""

    achieved_hz: float | None
    """The messages per second that the transport accepted."""
    reached_hz: float | None
    """The achieved rate in the part of the trial with the highest requested rate."""
    asked_hz: float | None
    """The messages per second that were due in the part with the highest requested rate, including the random variation
    of `poisson`."""
    behind: bool
    """Whether the source fell behind its schedule permanently."""
    backlog: bool
    """Whether messages waited longer and longer."""
    seconds: float
    """The time from the first due time to the last arrival."""
    period_ns: float = 0.0
    """The time between the due times of two messages or two bursts."""
    queued_ns: float = 0.0
    """The median queueing time if messages queued throughout the trial, otherwise 0."""
    long_ns: float = 0.0
    """The median response if many messages became due during each response, throughout the trial; otherwise 0."""
    growth: float = 0.0
    """The growth of the response, in seconds per second, if there is a backlog; otherwise 0."""
    lag: float | None = None
    """By how much the last fifth of the messages arrived later than the fastest message, in seconds per second since
    the first message was due; None if the trial has too few messages or no schedule. Messages that arrive at a fraction
    1 / (1 + x) of the due rate have the lag x."""


def measure_pace(pair: Pair) -> AchievedPace:
    """Measure the rate that a pair achieved. Only the part of the trial with the highest requested rate shows whether
    the pair keeps up."""
    begun_ns = _earliest(_known_times(pair.due_times))
    achieved_hz, span_ns = _rate(_known_times(pair.send_times), begun_ns)
    seconds = max(span_ns, int(pair.completion_times.max(initial=begun_ns)) - begun_ns) / 1e9
    return _judge(pair, _fastest_part(pair), achieved_hz, seconds)


def _fastest_part(pair: Pair) -> slice:
    """Return the slice of messages due at the highest rate: all messages or, if the rate changes, a fifth of them."""
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
    lag = _lag(responses[-1], minus(done, planned), asked_ns) if scheduled and responses and asked_ns else None
    period_ns = asked_ns / max(len(due) - 1, 1) * pair.cell.axes.burst
    queued_ns, long_ns = _standing(pair, part, period_ns) if scheduled else (0.0, 0.0)
    asked_hz = asked_hz if scheduled else None
    return AchievedPace(
        achieved_hz, reached_hz, asked_hz, behind, backlog, seconds, period_ns, queued_ns, long_ns, growth, lag
    )


def _lag(last_ns: float, responses: Times, asked_ns: int) -> float:
    """Return the lag of the last fifth of the messages, which are due after nine tenths of the schedule on average."""
    return (last_ns - int(responses.min())) / (asked_ns * (1 - 1 / (2 * PARTS)))


def _standing(pair: Pair, part: slice, period_ns: float) -> tuple[float, float]:
    """Return the median time that messages waited, and their median response time. A median is 0 unless the median time
    exceeds `limit_ns` in every fifth of the messages."""
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
    """Return the rate at which messages were sent since the first due time, and the time span over which this rate was
    measured.

    The time span starts at the first due time, so a source that starts late and catches up does not appear faster than
    requested.
    """
    span = int(times.max()) - begun_ns if len(times) > 1 else 0
    return ((len(times) - 1) * 1e9 / span if span else None), span


def _medians(end: Times, start: Times) -> list[float]:
    """Return the median delay of each fifth of the messages. Return an empty list if any fifth contains no message with
    a known delay."""
    fifths = zip(np.array_split(end, PARTS), np.array_split(start, PARTS), strict=True)
    delays = [minus(*fifth) for fifth in fifths]
    return [float(np.median(each)) for each in delays] if all(len(each) for each in delays) else []


def _behind(achieved_hz: float | None, asked_hz: float | None, lateness: list[float], asked_ns: int) -> bool:
    """Return whether the achieved rate is too low and the last messages were sent late. A single late message at the
    end of the trial does not count as being behind."""
    if achieved_hz is None or asked_hz is None or not lateness:
        return False
    return achieved_hz < SHARE * asked_hz and lateness[-1] > (1 - SHARE) * asked_ns


def _backlog(responses: list[float], asked_ns: int, messages: int) -> bool:
    """Return whether the response time grows steadily, by at least 1 % of the schedule and by more than one period."""
    if not responses:
        return False
    growth = responses[-1] - responses[0]
    steady = all(later >= earlier for earlier, later in pairwise(responses))
    return steady and growth > max((1 - SHARE) * asked_ns, asked_ns / max(messages - 1, 1))
