"""Store the data that explains why messages are slow. This data comes from one additional trial of each cell, which
records the threads' counters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hopmeter.model.trial import TrialResult
from hopmeter.store.arrow_arrays import to_numpy, to_table
from hopmeter.store.disk import StoreError, append_lines, replacing, writing
from hopmeter.store.samples import write_parquet
from hopmeter.system.input_files import read_text

MAGIC = b"HMTHREAD"
HEAD_BYTES = 64
COUNTS = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
READING = np.dtype(
    [
        ("seq", "<u8"),
        *((name, "<i8") for name in ("at_ns", "cpu_ns", "queued_ns")),
        *((name, "<u4") for name in ("thread", "mark", *COUNTS)),
        ("unused", "<u8"),
    ]
)
"""A reading in a raw file. instrument/src/thread_log.rs defines each field."""
Readings = NDArray[Any]


class WhyFolder:
    """The directory `why/` of a run, with the samples and counter readings of each cell's additional trial."""

    def __init__(self, run: Path) -> None:
        self.path = run / "why"

    def add(self, result: TrialResult, raw_files: Sequence[Path]) -> None:
        """Store the additional trial of a cell. If the trial's files are damaged, the trial is stored as failed, with
        the reason for the failure."""
        with writing(self.path):
            self.path.mkdir(exist_ok=True)
        try:
            if result.good:
                write_parquet(raw_files, self.samples(result.cell))
                self._write_readings(result.cell, [raw.with_suffix(".readings") for raw in raw_files])
        except StoreError as error:
            result = replace(result, good=False, reason=error.message, remedy=error.remedy)
        append_lines(self.path / "trials.jsonl", result.as_json())

    def samples(self, cell: str) -> Path:
        """Return the path of the samples that a cell's additional trial recorded."""
        return self.path / f"{cell}.parquet"

    def results(self) -> dict[str, TrialResult]:
        """Return each cell's additional trial, or an empty dict if the run has no additional trials. Raises StoreError
        if the file is damaged."""
        path = self.path / "trials.jsonl"
        try:
            rows = [json.loads(line) for line in read_text(path).splitlines()]
            return {row["cell"]: TrialResult.from_json(row) for row in rows}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as cause:
            raise _damage_error(path, cause) from cause

    def readings(self, cell: str) -> dict[int, Readings]:
        """Return the counter readings of a cell's additional trial, by endpoint. Raises StoreError if these readings
        are missing or damaged."""
        path = self._readings_path(cell)
        try:
            with pq.ParquetFile(path) as file:
                table = file.read()
            columns = {name: to_numpy(table.column(name)) for name in table.column_names}
        except (OSError, pa.ArrowException) as cause:
            raise _damage_error(path, cause) from cause
        return {int(each): _select(columns, columns["endpoint"] == each) for each in np.unique(columns["endpoint"])}

    def _write_readings(self, cell: str, raw_files: Sequence[Path]) -> None:
        parts = [_read_raw(path) for path in raw_files]
        names = [name for name in READING.names or () if name != "unused"]
        columns = {name: np.concatenate([readings[name] for _, readings in parts]) for name in names}
        endpoints = np.concatenate([np.full(len(readings), endpoint, np.uint32) for endpoint, readings in parts])
        with replacing(self._readings_path(cell)) as temporary:
            pq.write_table(to_table({"endpoint": endpoints, **columns}), temporary, compression="zstd")

    def _readings_path(self, cell: str) -> Path:
        return self.path / f"{cell}-threads.parquet"


def _read_raw(path: Path) -> tuple[int, Readings]:
    """Return the endpoint and the counter readings that a raw file contains."""
    try:
        content = path.read_bytes()
    except OSError as cause:
        raise _damage_error(path, cause) from cause
    head = np.frombuffer(content[8:32], "<u4")
    if content[:8] != MAGIC or head[:2].tolist() != [1, READING.itemsize]:
        raise _damage_error(path, "it has another header")
    if len(content) != HEAD_BYTES + int(head[4]) * READING.itemsize:
        raise _damage_error(path, f"it should contain {head[4]} readings")
    return int(head[2]), np.frombuffer(content, READING, offset=HEAD_BYTES)


def _select(columns: dict[str, NDArray[Any]], chosen: NDArray[np.bool_]) -> Readings:
    out = np.zeros(int(chosen.sum()), READING)
    for name, values in columns.items():
        if name != "endpoint":
            out[name] = values[chosen]
    return out


def _damage_error(path: Path, cause: object) -> StoreError:
    return StoreError("E-FILE-DAMAGED", f"{path} is damaged: {cause}", "measure the scenario again with --why")
