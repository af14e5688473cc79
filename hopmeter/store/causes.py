"""Store which messages of a workload caused which other messages. Nodes write these causes as raw files, which
hopmeter combines into a Parquet file next to the samples."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hopmeter.store.arrow_arrays import to_numpy, to_table
from hopmeter.store.disk import StoreError, replacing
from hopmeter.store.samples import PARQUET

MAGIC = b"HMCAUSES"
HEAD_BYTES = 64
RECORD = np.dtype([("seq", "<u8"), ("cause_seq", "<u8"), ("cause_endpoint", "<u4"), ("unused", "<u4")])
"""A record in a raw file. instrument/src/causes.rs defines each field."""
COLUMNS = ("endpoint", "seq", "cause_endpoint", "cause_seq")
AGAIN = "measure the trial again; if it happens again, check the disk"

Causes = dict[str, NDArray[np.int64]]
"""For each cause: the endpoint and `seq` of a message, and the endpoint and `seq` of the message that caused it."""


def causes_path(samples: Path) -> Path:
    """Return the path of a trial's cause file, which is next to the trial's samples."""
    return samples.with_suffix(".causes.parquet")


def write_causes(raw_files: Iterable[Path], samples: Path) -> None:
    """Combine the cause files of a trial into one Parquet file. If the trial has no cause files, no Parquet file is
    written.

    Raises StoreError if a cause file is damaged, or if the Parquet file cannot be written.
    """
    paths = [causes_path(each) if each.suffix == PARQUET else each.with_suffix(".causes") for each in raw_files]
    parts = [_read(path) for path in paths if path.exists()]
    if not parts:
        return
    joined = {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}
    with replacing(causes_path(samples)) as temporary:
        pq.write_table(to_table(joined), temporary, compression="lz4")


def read_causes(samples: Path) -> Causes:
    """Return the causes of a trial. The arrays are empty if no message caused another message.

    Raises StoreError if the file is damaged.
    """
    path = causes_path(samples)
    if not path.exists():
        return {name: np.empty(0, np.int64) for name in COLUMNS}
    return _read(path)


def _read(path: Path) -> Causes:
    if path.suffix != PARQUET:
        return _read_raw(path)
    try:
        with pq.ParquetFile(path) as file:
            table = file.read(list(COLUMNS))
        return {name: to_numpy(table.column(name)).astype(np.int64, copy=False) for name in COLUMNS}
    except (OSError, ValueError, pa.ArrowException) as cause:
        raise _damage(path, "cannot be read") from cause


def remove_samples(samples: Path) -> None:
    """Remove the samples and the causes of a trial after one of the files was found damaged or incomplete."""
    for path in (samples, causes_path(samples)):
        path.unlink(missing_ok=True)


def _read_raw(path: Path) -> Causes:
    try:
        content = path.read_bytes()
    except OSError as cause:
        raise _damage(path, "cannot be read") from cause
    if len(content) < HEAD_BYTES or content[:8] != MAGIC:
        raise _damage(path, "are unfinished")
    _, record_bytes, endpoint, _, count = struct.unpack_from("<IIIIQ", content, 8)
    if (record_bytes, len(content)) != (RECORD.itemsize, HEAD_BYTES + count * RECORD.itemsize):
        raise _damage(path, f"do not contain the {count} records that their header announces")
    records: NDArray[Any] = np.frombuffer(content, RECORD, offset=HEAD_BYTES)
    columns = {name: records[name].astype(np.int64) for name in ("seq", "cause_endpoint", "cause_seq")}
    return columns | {"endpoint": np.full(count, endpoint, np.int64)}


def _damage(path: Path, what: str) -> StoreError:
    return StoreError("E-SAMPLES-DAMAGED", f"the causes {path} {what}", AGAIN)
