"""The ring of shm by itself against iceoryx2 (spinning, two cores) and against a bare futex (blocking, one core)."""

from __future__ import annotations

import subprocess

from pairs import PAIRS, cargo_built


def main() -> int:
    """What benches/shm says and answers."""
    return subprocess.run([cargo_built("shm"), str(PAIRS)], check=False, timeout=600).returncode


if __name__ == "__main__":
    raise SystemExit(main())
