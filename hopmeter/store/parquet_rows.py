"""Read the rows of a stored table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hopmeter.store.disk import DamagedRunError


def read_rows(path: Path, columns: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a table, with all columns, or with those of the named ones that it has.

    Raises DamagedRunError if the file cannot be read.
    """
    try:
        with pq.ParquetFile(path) as file:
            known = [name for name in columns if name in file.schema_arrow.names]
            rows: list[dict[str, Any]] = file.read(known if columns else None).to_pylist()
    except (OSError, pa.ArrowException) as cause:
        remedy = "restore it from a copy, or measure again"
        raise DamagedRunError("E-FILE-DAMAGED", f"{path} cannot be read: {cause}", remedy) from cause
    return rows
