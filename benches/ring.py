"""The ring of shm by itself against iceoryx2 (spinning, two cores) and against a bare futex (blocking, one core)."""

from __future__ import annotations

import subprocess

from pairs import PAIRS
from programs import Crate


def main() -> int:
    """What benches/shm says and answers."""
    return subprocess.run([Crate("shm").path, str(PAIRS)], check=False, timeout=600).returncode


if __name__ == "__main__":
    raise SystemExit(main())
