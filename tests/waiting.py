"""Wait for the effects of another process, with a timeout."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")


def wait_for(look: Callable[[], Found], patience_s: float = 60) -> Found:
    """Call `look` until its result is true, and return the result. Fail after the timeout."""
    deadline = time.monotonic() + patience_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"it did not happen within {patience_s} s"
        time.sleep(0.02)
    return found


def wait_for_trial(run: Path) -> Path:
    """Wait until a run has a finished trial in its folder `.NAME.partial`, and return the file of its trials."""
    finished = run / "trials.jsonl"
    wait_for(lambda: finished.exists() and finished.read_text())
    return finished
