"""Plan the flows that replay a recording: how many messages of which sizes they send, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hopmeter.model.workload import Flow, Replay
from hopmeter.recordings.source import RecordingError, parse_recording
from hopmeter.scenario.workload import Flow as FlowKeys

if TYPE_CHECKING:  # the functions import these themselves, because few scenarios need NumPy
    from hopmeter.recordings.replay_file import Timing


@dataclass(frozen=True)
class Replayed:
    """The messages of a flow that replays a recording."""

    replay: Replay
    label: str
    messages: int
    warmup: int
    most_bytes: int
    rate_hz: float
    """The mean rate."""

    @property
    def count(self) -> tuple[int, int]:
        """Return how many messages count, and how many are sent before."""
        return self.messages, self.warmup

    def apply(self, flow: Flow) -> Flow:
        """Return a flow with these messages."""
        values: dict[str, Any] = {
            "payload": f"replay:{self.label}",
            "payload_bytes": self.most_bytes,
            "rate_hz": self.rate_hz,
        }
        return replace(flow, pace="replay", replay=self.replay, **values)


def plan_replays(flows: Mapping[str, FlowKeys], duration_s: float, warmup_s: float) -> dict[str, Replayed]:
    """Read the recordings of the flows that replay one. Raises RecordingError, which names the flow."""
    return {name: _plan_flow(name, keys, duration_s, warmup_s) for name, keys in flows.items() if keys.replay}


def _plan_flow(name: str, keys: FlowKeys, duration_s: float, warmup_s: float) -> Replayed:
    try:
        return _plan(keys, duration_s, warmup_s)
    except RecordingError as wrong:
        raise RecordingError(wrong.code, f"flow {name}: {wrong.what}", wrong.remedy) from wrong


def timing_of(replay: Replay) -> Timing:
    """Return when the messages of a replayed flow are due."""
    from hopmeter.recordings.replay_file import Timing

    return Timing(replay.speed, replay.loop, round(replay.warmup_s * 1e9), round(replay.duration_s * 1e9))


def _plan(keys: FlowKeys, duration_s: float, warmup_s: float) -> Replayed:
    from hopmeter.recordings.excerpt import read_excerpt
    from hopmeter.recordings.replay_file import schedule

    source = parse_recording(keys.replay or "")
    found = Replay(f"{source.path}:{source.topic}", keys.speed, keys.loop, warmup_s, duration_s)
    timing = timing_of(found)
    excerpt = read_excerpt(source, timing.span_ns)
    made = schedule(excerpt, timing)
    sizes, period_s = excerpt.sizes[made.samples], excerpt.period_ns / keys.speed / 1e9
    ends = excerpt.whole and not keys.loop and period_s < duration_s
    found = replace(
        found,
        mean_bytes=float(sizes.mean()),
        ends_s=float(made.due_ns[-1] - timing.warmup_ns) / 1e9 if ends else None,
    )
    lasts_s = period_s if ends and period_s else duration_s
    return Replayed(
        found, source.label, len(sizes), made.warmup, int(excerpt.sizes[made.places].max()), len(sizes) / lasts_s
    )
