"""Query any number of runs as one table, with DuckDB."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hopmeter.errors import UsageError
from hopmeter.messages import tag
from hopmeter.store.disk import DamagedRunError
from hopmeter.store.formats import RENAMED
from hopmeter.store.pack import run_directory

if TYPE_CHECKING:
    import duckdb

TABLES = {
    "cells": ("cells.parquet", r"([^/]+)/cells\.parquet$"),
    "trials": ("trials.parquet", r"([^/]+)/trials\.parquet$"),
    "samples": ("samples/*[0-9].parquet", r"([^/]+)/samples/[^/]+$"),
    "processes": ("processes.parquet", r"([^/]+)/processes\.parquet$"),
    "cpu": ("cpu/*.parquet", r"([^/]+)/cpu/[^/]+$"),
}
"""For each view, the pattern of its files, and a regular expression that extracts the run's name from their paths."""

NEEDED = ("cells", "trials")
"""The views that every run has. Runs of older versions lack the view `processes`."""
OF_TRIALS = ("samples", "cpu")
"""The views with one file per trial. If a file is damaged, only that file is left out."""
SAMPLE = r"([^/]+)-(\d+)\.parquet$"
"""Extracts the cell and the trial from a trial's file name."""


def connect(runs: Iterable[Path]) -> duckdb.DuckDBPyConnection:
    """Return an in-memory database with the views `cells`, `trials`, `processes`, `samples` and, if CPU use was
    sampled, `cpu`. Each view has the column `run`.

    `samples` and `cpu` also have the columns `cell` and `trial`. If a run of an older version lacks a column, the
    column's values are null for this run. A damaged file that belongs to a single trial is omitted with a warning.
    Raises UsageError if there is no run or a run has no tables, and StoreError if a table is damaged.
    """
    import duckdb  # DuckDB is slow to import, and no command needs it

    folders = [run_directory(run).resolve() for run in runs]
    if not folders:
        raise UsageError("E-NO-RUN", "no run was named", "name folders below results/")
    database = duckdb.connect()
    for view, (pattern, run) in TABLES.items():
        files = [str(path) for folder in folders for path in _files(folder, view, pattern) if _is_whole(path, view)]
        if files:
            database.execute(f"CREATE VIEW {view} AS {_select(view, files, run)}")
    return database


def _files(folder: Path, view: str, pattern: str) -> list[Path]:
    files = sorted(folder.glob(pattern))
    if not files and view in NEEDED:
        raise UsageError(
            "E-RUN-UNFINISHED",
            f"{folder} has no {pattern}",
            "name a finished run; finish an unfinished run with `hopmeter run --resume`",
        )
    return files


def _is_whole(path: Path, view: str) -> bool:
    """Return whether a Parquet file has a readable footer.

    Raises StoreError if an unreadable file does not belong to a single trial.
    """
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowException) as cause:
        if view not in OF_TRIALS:
            raise DamagedRunError(
                "E-FILE-DAMAGED", f"{path} is damaged: {cause}", "restore it from a copy, or measure again"
            ) from cause
        warnings.warn(tag("W-SAMPLES", f"left out because it is damaged: {path}"), stacklevel=4)
        return False
    return True


def _select(view: str, files: list[str], run: str) -> str:
    listed = ", ".join(_quote(file) for file in files)
    named = f"regexp_extract(filename, {_quote(run)}, 1) AS run"
    if view in OF_TRIALS:
        cell, trial = (f"regexp_extract(filename, {_quote(SAMPLE)}, {part})" for part in (1, 2))
        named += f", {cell} AS cell, CAST({trial} AS BIGINT) AS trial"
    left_out, renamed = _rename_columns(view, files)
    files_named = f"read_parquet([{listed}], union_by_name=true, filename=true)"
    return f"SELECT {named}, * EXCLUDE ({left_out}){renamed} FROM {files_named}"


def _rename_columns(view: str, files: list[str]) -> tuple[str, str]:
    """Return the columns to exclude, and an SQL expression that selects renamed columns under their current names."""
    found = {name for file in files for name in pq.read_schema(file).names}
    left_out, renamed = ["filename"], ""
    for old, new in RENAMED.get(view, {}).items():
        if old in found:
            both = new in found
            left_out += [old, new] if both else [old]
            renamed += f", coalesce({new}, {old}) AS {new}" if both else f", {old} AS {new}"
    return ", ".join(left_out), renamed


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
