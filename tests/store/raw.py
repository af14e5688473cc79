"""Write raw sample files as the recorder does (instrument/src/recorder.rs), from hand-made records."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HEAD = struct.Struct("<8sIIIIQQ")
NONE = -(2**63)


def raw_bytes(endpoint: int, rows: Sequence[dict[str, Any]], unrecorded: int = 0) -> bytes:
    """Return the bytes of a raw sample file; times that a row omits are marked as not applicable."""
    head = HEAD.pack(b"HMSAMPLE", 1, 64, endpoint, 0, len(rows), unrecorded).ljust(4096, b"\0")
    return head + b"".join(_record(endpoint, row) for row in rows)


def _record(endpoint: int, row: dict[str, Any]) -> bytes:
    times = [row.get(name, NONE) for name in ("due", "sent", "arrived", "forwarded", "encoded", "decoded")]
    return struct.pack("<QII6q", row["seq"], endpoint, row.get("copy", 0), *times)


def write_raw(path: Path, endpoint: int, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_bytes(raw_bytes(endpoint, rows))
    return path
