"""Write raw cause files as nodes do (instrument/src/causes.rs), from hand-made records."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

Cause = tuple[int, int, int]
"""The `seq` of a message, and the endpoint and the `seq` of the message that caused it."""


def raw_causes(endpoint: int, rows: Sequence[Cause]) -> bytes:
    head = struct.pack("<8sIIIIQ", b"HMCAUSES", 1, 24, endpoint, 0, len(rows)).ljust(64, b"\0")
    return head + b"".join(struct.pack("<QQII", seq, cause_seq, cause, 0) for seq, cause, cause_seq in rows)


def write_causes_of(samples: Path, endpoint: int, rows: Sequence[Cause]) -> Path:
    path = samples.with_suffix(".causes")
    path.write_bytes(raw_causes(endpoint, rows))
    return path
