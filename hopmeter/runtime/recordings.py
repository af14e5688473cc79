"""Write the recordings that flows replay before the first trial, and remove them after the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.plan import Plan
from hopmeter.plan.replays import timing_of
from hopmeter.recordings.replay_file import ReplayFile, write_replay
from hopmeter.recordings.source import parse_recording
from hopmeter.runtime.signals import Alarm
from hopmeter.system.scratch_dir import ScratchDir

Recordings = dict[str, ReplayFile]
"""The file of each flow that replays a recording."""


@contextmanager
def write_recordings(plan: Plan) -> Iterator[Recordings]:
    """Write the messages that flows replay; the files exist inside the `with` block, in a folder of this run.

    Raises RecordingError if a recording cannot be replayed, and InterruptedRunError.
    """
    needed = _replays(plan)
    if not needed:
        yield {}
        return
    with ScratchDir() as ground:
        with Alarm() as alarm:
            found = {
                name: write_replay(parse_recording(one.recording), timing_of(one), _place(ground, name), alarm.check)
                for name, one in needed.items()
            }
        yield found


def _place(ground: ScratchDir, name: str) -> Path:
    return ground.directory / f"{name}.replay"


def _replays(plan: Plan) -> dict[str, Any]:
    """Return the recordings to replay, by flow; all cells of a plan have the same flows."""
    workload = next((cell.workload for cell in plan.runnable if cell.workload), None)
    return {flow.name: flow.replay for flow in workload.flows if flow.replay} if workload else {}


def facts(recordings: Recordings) -> dict[str, Any]:
    """Describe the recordings for `run.json`, by flow."""
    return {flow: dict(one.facts) for flow, one in recordings.items()}


def check_unchanged(recordings: Recordings, before: Mapping[str, Any]) -> None:
    """Raise UsageError if a continued run would send messages that differ from the earlier ones."""
    for flow, found in facts(recordings).items():
        if found != before.get(flow):
            what = f"the recording of flow {flow} has different content than when this run began"
            raise UsageError("E-PAYLOAD-CHANGED", what, f"restore {found['path']}, or start a new run")
