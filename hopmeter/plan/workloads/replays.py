"""Plan the flows that replay a recording: the number, the sizes and the due times of their messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow, Replay
from hopmeter.recordings.source import parse_recording
from hopmeter.scenario.workload import Flow as FlowKeys

if TYPE_CHECKING:  # imported lazily at run time, because few scenarios need NumPy
    from hopmeter.recordings.excerpt import Excerpt
    from hopmeter.recordings.message import RecordedType
    from hopmeter.recordings.replay_file import Timing

DEFINITIONS = "ros2msg"
"""The format of message definitions that hopmeter can read."""


@dataclass(frozen=True)
class Replayed:
    """The recorded messages that a flow replays."""

    replay: Replay
    label: str
    messages: int
    warmup: int
    most_bytes: int
    rate_hz: float
    """The mean message rate."""

    @property
    def count(self) -> tuple[int, int]:
        """Return the number of measured messages and the number of warm-up messages."""
        return self.messages, self.warmup

    def apply(self, flow: Flow) -> Flow:
        """Return the flow with the payload, rate and pace of the replayed messages."""
        values: dict[str, Any] = {
            "payload": f"replay:{self.label}",
            "payload_bytes": self.most_bytes,
            "rate_hz": self.rate_hz,
        }
        return replace(flow, pace="replay", replay=self.replay, **values)


def plan_replays(flows: Mapping[str, FlowKeys], duration_s: float, warmup_s: float) -> dict[str, Replayed]:
    """Return, for each flow that replays a recording, the messages that it will send.

    Raises a RecordingError that names the flow if a recording cannot be replayed.
    """
    found = {name: _replay(keys, duration_s, warmup_s) for name, keys in flows.items() if keys.replay}
    found = _with_types(found)
    return {name: _plan(name, found[name], excerpt) for name, excerpt in read_replays(found).items()}


def _with_types(replays: Mapping[str, Replay]) -> dict[str, Replay]:
    """Return the replays with the message types that the recordings declare.

    A recording that cannot be read is ignored here, because reading its messages later raises an error.
    """
    from hopmeter.recordings.formats import read_types
    from hopmeter.recordings.source import RecordingError

    found: dict[Path, dict[str, RecordedType]] = {}
    for path in {parse_recording(each.recording).path for each in replays.values()}:
        with suppress(RecordingError):
            found[path] = read_types(path)
    return {name: _with_type(replay, found) for name, replay in replays.items()}


def _with_type(replay: Replay, types: Mapping[Path, Mapping[str, RecordedType]]) -> Replay:
    source = parse_recording(replay.recording)
    kind = types.get(source.path, {}).get(source.topic)
    if kind is None:
        return replay
    definition = kind.definition if kind.format == DEFINITIONS else None
    return replace(replay, type=kind.name, encoding=kind.encoding, definition=definition)


def read_replays(replays: Mapping[str, Replay]) -> dict[str, Excerpt]:
    """Return the messages of each flow that replays a recording.

    Raises a RecordingError that names the flow if a recording cannot be replayed.
    """
    if not replays:
        return {}
    from hopmeter.recordings.replay_file import ReplayRequest, read_requests

    requests = {flow: ReplayRequest(parse_recording(each.recording), timing_of(each)) for flow, each in replays.items()}
    return read_requests(requests)


def replay_notes(cells: Iterable[Cell]) -> list[str]:
    """Return notes that tell the user about the recordings in a plan, for example about messages that are left out."""
    flows = [flow for cell in cells if cell.workload for flow in cell.workload.flows if flow.replay]
    notes = [
        f"flow {flow.name} ({flow.payload}): {note}" for flow in flows if flow.replay for note in flow.replay.notes
    ]
    return list(dict.fromkeys(notes))


def _replay(keys: FlowKeys, duration_s: float, warmup_s: float) -> Replay:
    source = parse_recording(keys.replay or "")
    return Replay(f"{source.path}:{source.topic}", keys.speed, keys.loop, warmup_s, duration_s)


def timing_of(replay: Replay) -> Timing:
    """Return what determines when the messages of a replay are due: its speed, repetition, warm-up and duration."""
    from hopmeter.recordings.replay_file import Timing

    return Timing(replay.speed, replay.loop, round(replay.warmup_s * 1e9), round(replay.duration_s * 1e9))


def _plan(flow: str, wanted: Replay, excerpt: Excerpt) -> Replayed:
    from hopmeter.recordings.replay_file import naming, schedule

    timing = timing_of(wanted)
    with naming(flow):
        made = schedule(excerpt, timing)
    sizes, period_s = excerpt.sizes[made.samples], (excerpt.period_ns or 0.0) / wanted.speed / 1e9
    ends = excerpt.period_ns is not None and not wanted.loop and period_s < wanted.duration_s
    found = replace(
        wanted,
        mean_bytes=float(sizes.mean()),
        ends_s=float(made.due_ns[-1] - timing.warmup_ns) / 1e9 if ends else None,
        notes=excerpt.notes,
    )
    lasts_s = period_s if ends and period_s else wanted.duration_s
    most_bytes = int(excerpt.sizes[made.places].max())
    return Replayed(found, excerpt.source.label, len(sizes), made.warmup, most_bytes, len(sizes) / lasts_s)
