"""A typical cell for tests; each test changes only the values that it checks."""

from __future__ import annotations

from typing import Any

from hopmeter.model.cell import Cell

MEASURED = ("ok", "saturated")
"""The statuses of a successful cell. `saturated` is one of them, because the last messages of a short trial may be late
on a busy machine."""

CELL = Cell.of(
    id="c1",
    transport="made-up",
    language="rust",
    pattern="pubsub",
    placement="process",
    wait="block",
    cores="cross",
    payload="timing",
    payload_bytes=28,
    touch="write",
    codec="none",
    pace="open",
    rate_hz=1000.0,
    relays=0,
    sinks=1,
)


def cell(**changes: Any) -> Cell:
    return CELL.with_values(**changes)
