"""Lists the shared-memory files that this process has mapped, so that an adapter can find files that its library may
leave behind.
"""

from __future__ import annotations

import re
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")


def mapped_files(pattern: str) -> set[Path]:
    """Return the mapped files in /dev/shm whose complete names match a regular expression."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    return {Path(path) for path in re.findall(rf"\s({SHARED_MEMORY}/{pattern})(?=\s)", maps)}
