"""Read and write `clocks.jsonl`, the clock measurements of a run on several hosts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hopmeter.clocks.batches import Batch
from hopmeter.clocks.clock_state import ClockState
from hopmeter.store.disk import StoreError, append_lines
from hopmeter.system.untrusted_json import parse

FILE = "clocks.jsonl"
KINDS: dict[str, Callable[[Any], Batch | ClockState]] = {
    "burst": Batch.model_validate,
    "clock": ClockState.model_validate,
}
MOST_BYTES = 1 << 28


def add_clocks(folder: Path, *found: Batch | ClockState) -> None:
    """Append clock measurements (batches) and clock states to the clock file of a run. Raises StoreError if the file
    cannot be written."""
    lines = ({"burst" if isinstance(each, Batch) else "clock": each.model_dump()} for each in found)
    append_lines(folder / FILE, *lines)


def read_clocks(folder: Path) -> tuple[list[Batch], list[ClockState]]:
    """Return the clock measurements (batches) and clock states of a run, or two empty lists without a clock file.
    Raises StoreError if the file is damaged."""
    path = folder / FILE
    if not path.exists():
        return [], []
    try:
        lines = _lines(path)
        found = [KINDS[kind](value) for line in lines for kind, value in parse(line).items()]
    except (OSError, ValueError, KeyError, AttributeError) as cause:
        remedy = "restore it from a copy, or measure again"
        raise StoreError("E-FILE-DAMAGED", f"{path} is damaged: {cause}", remedy) from cause
    batches = [each for each in found if isinstance(each, Batch)]
    return batches, [each for each in found if isinstance(each, ClockState)]


def _lines(path: Path) -> list[str]:
    """Return the complete lines of a clock file. An incomplete last line, which a killed run may leave, is skipped."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes")
    return [line for line in path.read_text(encoding="utf-8").split("\n")[:-1] if line]
