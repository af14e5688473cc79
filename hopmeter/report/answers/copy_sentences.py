"""A sentence that compares the methods of copying a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hopmeter.analysis.results.groups import CONDITIONS
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.model.payload_words import name_payload
from hopmeter.report.words import formatting

COPY = "copy:"


def copy_sentences(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each frame that was copied in several ways, smallest frame first."""
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for run in runs:
        for row in run.measured_rows:
            if row.ok and row["copy_p50_us"] is not None and _parts(row):
                same = tuple(row.get(key) for key in (*CONDITIONS, "transport", "language", "profile") if key != "work")
                alike.setdefault((run.name, *same), []).append(row)
    found = [sorted(rows, key=lambda row: row.number("copy_p50_us")) for rows in alike.values() if len(rows) > 1]
    return [_sentence(rows) for rows in sorted(found, key=lambda rows: int(rows[0]["payload_bytes"]))]


def _sentence(rows: Sequence[Row]) -> str:
    """Return a sentence with the median of each copy method, fastest first."""
    first = rows[0]
    several = len({_parts(row)[0] for row in rows}) > 1
    medians = [f"{_way(row, several)} {formatting.microseconds(row['copy_p50_us'])}" for row in rows]
    name = name_payload(str(first["payload"]))
    frame = formatting.payload_bytes(first["payload_bytes"]) + (f" ({name})" if name else "")
    return f"Median times to copy {frame} received over {formatting.row_name(first)}: {', '.join(medians)}."


def _parts(row: Row) -> list[str]:
    """Return the size, copy method and destination of the frames that a row's receivers copy. Return an empty list if
    the receivers copy in different ways."""
    work = str(row["work"] or "")
    return work.removeprefix(COPY).split(":") if work.startswith(COPY) and "/" not in work else []


def _way(row: Row, with_size: bool) -> str:
    parts = _parts(row)
    return " ".join(parts if with_size else parts[1:] or parts)
