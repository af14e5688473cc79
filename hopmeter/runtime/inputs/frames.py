"""Decodes the image and video files of payloads before the first trial, and removes the decoded frames after the last
trial."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from hopmeter.images import parse_source
from hopmeter.images.decoded import Decoded, decode
from hopmeter.plan import Plan
from hopmeter.plan.flows import flows
from hopmeter.runtime.inputs.run_files import make_files

Pictures = dict[str, Decoded]
"""The decoded frames, by payload."""


def decode_payloads(plan: Plan) -> AbstractContextManager[Pictures]:
    """Decode the frames that the cells of a plan send. The decoded frames are stored in a directory of the run, and
    exist only inside the `with` block.

    Raises PictureError if a file cannot be decoded, and InterruptedRunError on a signal.
    """
    return make_files(_frame_counts(plan), _decode)


def _decode(payload: str, most: int | None, into: Path, check: Callable[[], None]) -> Decoded:
    source = parse_source(payload)
    assert source is not None, "only payloads from files are decoded"
    return decode(source, most, into, check)


def _frame_counts(plan: Plan) -> dict[str, int | None]:
    """For each payload, return the maximum number of frames that a trial sends, or None if the maximum is unknown."""
    needed: dict[str, int | None] = {}
    for flow in (flow for cell in plan.runnable for flow in flows(cell)):
        if parse_source(flow.payload):
            before = needed.get(flow.payload, 0)
            sent = None if plan.scenario.search else max(flow.messages, flow.warmup)
            needed[flow.payload] = None if sent is None or before is None else max(before, sent)
    return needed
