"""What eCAL leaves in shared memory: its names carry nothing of ours, so they are read off this process while it has
them mapped."""

from __future__ import annotations

import re
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
NAME = re.compile(rf"{SHARED_MEMORY}/(ecal_[0-9a-f]+)\b")


def mapped() -> set[str]:
    """The memory files that this process reads or writes at the moment."""
    return set(NAME.findall(Path("/proc/self/maps").read_text()))


def remove(names: set[str]) -> None:
    """Removes those whose publisher was killed before it could, with their locks and events."""
    for name in names:
        for left in (SHARED_MEMORY / name, *SHARED_MEMORY.glob(f"{name}_*")):
            left.unlink(missing_ok=True)
