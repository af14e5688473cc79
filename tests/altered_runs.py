"""Make copies of a synthetic run with other latencies, as if the run had been repeated on a later day."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FIRST = datetime(2026, 1, 1, 4, 12, tzinfo=UTC)
TABLES = ("cells.parquet", "trials.parquet", "processes.parquet")
Factor = Callable[[dict[str, Any]], float]


def alter(run: Path, results: Path, number: int, factor: Factor, **machine: Any) -> Path:
    """Return the run of day `number`, with the latencies of each row multiplied by the row's `factor`."""
    started = FIRST + timedelta(days=number)
    folder = results / f"{started:%Y-%m-%dT%H%M%S}-{run.name}"
    folder.mkdir(parents=True)
    for name in TABLES[1:]:
        shutil.copy(run / name, folder / name)
    about = json.loads((run / "run.json").read_text())
    about["started"] = started.isoformat()
    about["machine"] |= machine
    (folder / "run.json").write_text(json.dumps(about))
    cells = pq.read_table(run / "cells.parquet")
    rows = [_scale(row, factor(row)) for row in cells.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, cells.schema), folder / "cells.parquet")
    return folder


def _scale(row: dict[str, Any], factor: float) -> dict[str, Any]:
    return {
        name: value * factor if name.endswith("_us") and isinstance(value, float) and name != "ideal_us" else value
        for name, value in row.items()
    }
