"""Read the raw samples that nodes write, and store the samples as Parquet."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hopmeter.store.arrow_arrays import to_arrow, to_numpy
from hopmeter.store.disk import StoreError, replacing
from hopmeter.store.formats import RENAMED

HEAD_BYTES = 4096
MAGIC = b"HMSAMPLE"
VERSION = 1
PARQUET = ".parquet"
NONE_NS = np.iinfo(np.int64).min
"""A missing time in raw files and in arrays. Parquet files store null for a missing time."""

TIMES = ("due_ns", "sent_ns", "arrived_ns", "forwarded_ns", "encoded_ns", "decoded_ns")
RECORD = np.dtype([("seq", "<u8"), ("endpoint", "<u4"), ("copy", "<u4"), *((name, "<i8") for name in TIMES)])
SCHEMA = pa.schema(
    [
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("endpoint", pa.uint32(), nullable=False),
        pa.field("copy", pa.uint32(), nullable=False),
        *(pa.field(name, pa.int64()) for name in TIMES),
    ]
)
ROWS_AT_ONCE = 1 << 20
"""The maximum number of rows in a row group. Each group belongs to one endpoint, so that each endpoint's rows can be
read separately."""

ENDED = "the node ended before it had written all samples; read the log of the node"
AGAIN = "measure the trial again; if it happens again, check the disk"

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Head:
    """The header of a raw sample file."""

    endpoint: int
    count: int
    unrecorded: int


def read_head(path: Path) -> Head:
    """Read and check the header of a raw sample file.

    Raises StoreError if the file is missing, unfinished or of the wrong length, or was written by another version.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as cause:
        raise _sample_error(path, "cannot be read", ENDED, "E-SAMPLES-UNREADABLE") from cause
    if len(head) < HEAD_BYTES or not any(head[:8]):
        raise _sample_error(path, "are unfinished", ENDED, "E-SAMPLES-UNFINISHED")
    magic, version, record_bytes, endpoint, _, count, unrecorded = struct.unpack_from("<8sIIIIQQ", head)
    if magic != MAGIC:
        raise _sample_error(path, "are not samples: the file's header is wrong")
    if (version, record_bytes) != (VERSION, RECORD.itemsize):
        said = f"have version {version} with records of {record_bytes} bytes"
        raise _sample_error(
            path,
            f"{said}; this hopmeter reads version {VERSION} with {RECORD.itemsize}",
            "run `hopmeter build`, so that the nodes and hopmeter have the same version",
            "E-VERSIONS-DIFFER",
        )
    if size != HEAD_BYTES + count * RECORD.itemsize:
        holds = (size - HEAD_BYTES) / RECORD.itemsize
        raise _sample_error(path, f"contain {holds:g} records, but their header announces {count}")
    return Head(endpoint, count, unrecorded)


def is_whole(path: Path) -> bool:
    """Return whether the samples in a file can be read. A killed node leaves a file without a valid header."""
    try:
        return path.suffix == PARQUET or read_head(path) is not None
    except StoreError:
        return False


def _sample_error(path: Path, what: str, remedy: str = AGAIN, code: str = "E-SAMPLES-DAMAGED") -> StoreError:
    return StoreError(code, f"the samples {path} {what}", remedy)


def read_raw(path: Path) -> NDArray[Any]:
    """Map the records of a raw file into memory without copying, in recording order.

    Raises StoreError if the file is damaged, or if a record belongs to another endpoint.
    """
    head = read_head(path)
    if not head.count:
        return np.empty(0, RECORD)
    records = np.memmap(path, RECORD, "r", HEAD_BYTES, head.count)
    if np.any(records["endpoint"] != head.endpoint):
        raise _sample_error(path, f"of endpoint {head.endpoint} contain records of other endpoints")
    return records


def write_parquet(raw_files: Iterable[Path], path: Path) -> int:
    """Combine the sample files of a trial into one Parquet file, and return the number of samples.

    `raw_files` are raw sample files of this host, or Parquet files from another host. Raises StoreError, and leaves no
    file at `path`, if a sample file is damaged or `path` cannot be written.
    """
    parts = [Samples(each) if each.suffix == PARQUET else read_raw(each) for each in raw_files]
    many = 0
    with replacing(path) as temporary, _writer(temporary) as writer:
        for part in parts:
            for table in part.tables() if isinstance(part, Samples) else _tables(part):
                writer.write_table(table, row_group_size=ROWS_AT_ONCE)
                many += len(table)
    return many


def _writer(path: Path) -> pq.ParquetWriter:
    # Delta encoding reduces the file to a fifth of the size of the raw file, because times grow steadily.
    encodings = dict.fromkeys(("seq", *TIMES), "DELTA_BINARY_PACKED")
    return pq.ParquetWriter(path, SCHEMA, compression="lz4", use_dictionary=False, column_encoding=encodings)


def _tables(records: NDArray[Any]) -> Iterator[pa.Table]:
    for first in range(0, len(records), ROWS_AT_ONCE):
        yield _table(records[first : first + ROWS_AT_ONCE])


def _table(records: NDArray[Any]) -> pa.Table:
    keys = [to_arrow(records[name]) for name in ("seq", "endpoint", "copy")]
    times = [to_arrow(records[name], records[name] != NONE_NS) for name in TIMES]
    return pa.Table.from_arrays([*keys, *times], schema=SCHEMA)


class Samples:
    """Reads the samples of one trial, one endpoint at a time and only in the requested columns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = pq.ParquetFile(path)
            old = {old: new for old, new in RENAMED["samples"].items() if old in self._file.schema_arrow.names}
            self._names = [old.get(name, name) for name in self._file.schema_arrow.names]
            missing = set(SCHEMA.names) - set(self._names)
        except (OSError, pa.ArrowException) as cause:
            raise _sample_error(path, "cannot be read", code="E-SAMPLES-UNREADABLE") from cause
        if missing:
            raise _sample_error(path, f"have no column {', '.join(sorted(missing))}")

    @cached_property
    def _groups(self) -> dict[int, list[int]]:
        """Return the numbers of the Parquet row groups that contain each endpoint's samples."""
        meta, column = self._file.metadata, self._names.index("endpoint")
        groups: dict[int, list[int]] = {}
        for number in range(meta.num_row_groups):
            seen = meta.row_group(number).column(column).statistics
            if seen is None or not seen.has_min_max or seen.min != seen.max:
                raise _sample_error(self.path, "were not written by hopmeter: endpoints share a row group")
            groups.setdefault(seen.min, []).append(number)
        return groups

    @property
    def endpoints(self) -> list[int]:
        """Return the endpoints that recorded at least one sample."""
        return sorted(self._groups)

    def tables(self) -> Iterator[pa.Table]:
        """Yield the stored samples as tables, each with rows of a single endpoint. Raises StoreError if the file is
        damaged."""
        for endpoint in self.endpoints:
            for group in self._groups[endpoint]:
                try:
                    table = self._file.read_row_group(group).rename_columns(self._names)
                    yield table.select(SCHEMA.names).cast(SCHEMA)
                except (OSError, pa.ArrowException) as cause:
                    raise _sample_error(self.path, "are damaged") from cause

    def of(self, endpoint: int, *columns: str) -> dict[str, Times]:
        """Return columns of one endpoint in recording order, with the value NONE_NS instead of null. The arrays are
        empty if the endpoint recorded no sample.

        Raises StoreError if the file is damaged.
        """
        groups = self._groups.get(endpoint, [])
        try:
            stored = dict(zip(self._names, self._file.schema_arrow.names, strict=True))
            table = self._file.read_row_groups(groups, columns=[stored[name] for name in columns])
        except (OSError, pa.ArrowException) as cause:
            raise _sample_error(self.path, "are damaged") from cause
        return {name: _array(table.column(stored[name])) for name in columns}


def _array(column: pa.ChunkedArray) -> Times:
    if column.null_count == len(column):
        return np.full(len(column), NONE_NS)
    return to_numpy(column, NONE_NS).astype(np.int64, copy=False)
