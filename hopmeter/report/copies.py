"""Copies of a frame side by side: rows that differ in nothing but the way in which they copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.report import formatting
from hopmeter.report.grouping import CONDITIONS
from hopmeter.report.source import Row, Run

COPY = "copy:"


@dataclass(frozen=True)
class Copies:
    """The ways in which one transport's receiver copied the same frame, the quickest first."""

    rows: list[Row]

    @property
    def sentence(self) -> str:
        """The order in words, with the median of each."""
        first = self.rows[0]
        sizes = {_parts(row)[0] for row in self.rows}
        told = [
            f"{_way(row, with_size=len(sizes) > 1)} {formatting.microseconds(row['copy_p50_us'])}" for row in self.rows
        ]
        what = f"{formatting.payload_bytes(first['payload_bytes'])} ({first['payload']})"
        return (
            f"Medians of a copy of {what} received over {first['transport']} ({first['language']}): {', '.join(told)}."
        )


def copies(runs: Sequence[Run]) -> list[Copies]:
    """All of them, small frames first; empty where no row has another to compare with."""
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for run in runs:
        for row in run.measured:
            if row.ok and row["copy_p50_us"] is not None and _parts(row):
                same = tuple(row[key] for key in (*CONDITIONS, "transport", "language", "profile") if key != "work")
                alike.setdefault((run.name, *same), []).append(row)
    found = [sorted(rows, key=lambda row: float(row["copy_p50_us"])) for rows in alike.values() if len(rows) > 1]
    return [Copies(rows) for rows in sorted(found, key=lambda rows: int(rows[0]["payload_bytes"]))]


def _parts(row: Row) -> list[str]:
    """Size, way and into what; nothing where not all who copy do it alike."""
    work = str(row["work"] or "")
    return work.removeprefix(COPY).split(":") if work.startswith(COPY) and "/" not in work else []


def _way(row: Row, with_size: bool) -> str:
    parts = _parts(row)
    return " ".join(parts if with_size else parts[1:] or parts)
