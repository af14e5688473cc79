"""Define the Arrow schemas of the tables in a run folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from hopmeter.store.arrow_arrays import rows_to_table

TYPES = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


def arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type for a type name in `columns.toml`, such as an Arrow list for `[float]`."""
    return pa.list_(TYPES[name[1:-1]]) if name.startswith("[") else TYPES[name]


def table(rows: Iterable[dict[str, Any]], types: Mapping[str, str]) -> pa.Table:
    """Convert rows to an Arrow table that contains all columns in `types`."""
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in types.items()])
    return rows_to_table(rows, schema)
