"""Before the first trial, writes the recordings that flows replay; after the last trial, removes the written files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from hopmeter.model.workload import Replay
from hopmeter.plan import Plan
from hopmeter.plan.workloads.replays import read_replays, timing_of
from hopmeter.recordings.replay_file import ReplayFile, write_replay
from hopmeter.runtime.inputs.run_files import make_files

Recordings = dict[str, ReplayFile]
"""The replay file of each flow that replays a recording, by flow name."""


def write_recordings(plan: Plan) -> AbstractContextManager[Recordings]:
    """Write files with the messages that flows replay. The files are stored in a directory of the run, and exist only
    inside the `with` block.

    Raises RecordingError if a recording cannot be replayed, and InterruptedRunError on a signal.
    """
    replays = _replays(plan)
    excerpts = read_replays(replays)

    def write(flow: str, replay: Replay, into: Path, check: Callable[[], None]) -> ReplayFile:
        return write_replay(excerpts[flow], timing_of(replay), into, check)

    return make_files(replays, write)


def _replays(plan: Plan) -> dict[str, Replay]:
    """Return the recording that each flow replays, keyed by flow name. All cells of a plan have the same flows."""
    workload = next((cell.workload for cell in plan.runnable if cell.workload), None)
    return {flow.name: flow.replay for flow in workload.flows if flow.replay} if workload else {}
