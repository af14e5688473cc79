"""Decode the image and video files of payloads before the first trial, and remove the frames after the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.images import parse_source
from hopmeter.images.decoded import Decoded, decode
from hopmeter.plan import Plan
from hopmeter.plan.flows import flows
from hopmeter.runtime.signals import Alarm
from hopmeter.system.scratch_dir import ScratchDir

Pictures = dict[str, Decoded]
"""Frames by payload."""


@contextmanager
def decode_payloads(plan: Plan) -> Iterator[Pictures]:
    """Decode the frames that the cells send; they exist inside the `with` block, in a folder of this run.

    Raises PictureError if a file cannot be decoded, and InterruptedRunError.
    """
    needed = _frame_counts(plan)
    if not needed:
        yield {}
        return
    with ScratchDir() as ground:
        with Alarm() as alarm:
            found = {
                payload: decode(source, most, ground.directory / f"{number}.rgb8", alarm.check)
                for number, (payload, most) in enumerate(needed.items())
                if (source := parse_source(payload))
            }
        yield found


def _frame_counts(plan: Plan) -> dict[str, int | None]:
    """Return, for each payload, how many frames are sent before they repeat; None if the number is unknown."""
    needed: dict[str, int | None] = {}
    for flow in (flow for cell in plan.runnable for flow in flows(cell)):
        if parse_source(flow.payload):
            before = needed.get(flow.payload, 0)
            sent = None if plan.scenario.search else max(flow.messages, flow.warmup)
            needed[flow.payload] = None if sent is None or before is None else max(before, sent)
    return needed


def facts(pictures: Pictures) -> dict[str, Any]:
    """Describe the decoded files for `run.json`, by payload."""
    return {payload: one.facts for payload, one in pictures.items()}


def check_unchanged(pictures: Pictures, before: Mapping[str, Any]) -> None:
    """Raise UsageError if a continued run would send frames that differ from the earlier ones."""
    for payload, found in facts(pictures).items():
        if found != before.get(payload):
            what = f"{payload} has different content than when this run began"
            raise UsageError("E-PAYLOAD-CHANGED", what, f"restore the file {found['path']}, or start a new run")
