"""Read the rows of a stored table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hopmeter.store.disk import DamagedRunError
from hopmeter.store.formats import RENAMED


def read_rows(path: Path, columns: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a table, with current column names. If `columns` is given, only these columns are returned.
    Names in `columns` that the table lacks are ignored.

    Raises DamagedRunError if the file cannot be read.
    """
    try:
        with pq.ParquetFile(path) as file:
            names = RENAMED.get(path.stem, {})
            stored = {names.get(name, name): name for name in file.schema_arrow.names}
            known = [name for name in columns or stored if name in stored]
            in_file = [stored[name] for name in known]
            table = file.read(in_file).select(in_file).rename_columns(known)
    except (OSError, pa.ArrowException) as cause:
        remedy = "restore it from a copy, or measure again"
        raise DamagedRunError("E-FILE-DAMAGED", f"{path} cannot be read: {cause}", remedy) from cause
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
