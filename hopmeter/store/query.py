"""Any number of runs as one table, in DuckDB."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb

from hopmeter.errors import UsageError

TABLES = {
    "cells": ("cells.parquet", r"([^/]+)/cells\.parquet$"),
    "trials": ("trials.parquet", r"([^/]+)/trials\.parquet$"),
    "samples": ("samples/*.parquet", r"([^/]+)/samples/[^/]+$"),
}
"""The files behind each view, and where the run's name stands in their paths."""

SAMPLE = r"([^/]+)-(\d+)\.parquet$"
"""Cell and trial in the name of a sample file."""


def connect(runs: Iterable[Path]) -> duckdb.DuckDBPyConnection:
    """A database in memory with the views `cells`, `trials` and `samples`, each with the column `run`.

    `samples` has also `cell` and `trial`. Columns that an older run lacks are null. Raises UsageError where a
    run has no tables.
    """
    folders = [run.resolve() for run in runs]
    database = duckdb.connect()
    for view, (pattern, run) in TABLES.items():
        files = [str(path) for folder in folders for path in _files(folder, pattern)]
        if files:
            database.execute(f"CREATE VIEW {view} AS {_select(view, files, run)}")
    return database


def _files(folder: Path, pattern: str) -> list[Path]:
    files = sorted(folder.glob(pattern))
    if not files and "*" not in pattern:
        raise UsageError(f"{folder} has no {pattern}", "name a finished run; finish it with `hopmeter run --resume`")
    return files


def _select(view: str, files: list[str], run: str) -> str:
    listed = ", ".join(_quoted(file) for file in files)
    named = f"regexp_extract(filename, {_quoted(run)}, 1) AS run"
    if view == "samples":
        cell, trial = (f"regexp_extract(filename, {_quoted(SAMPLE)}, {part})" for part in (1, 2))
        named += f", {cell} AS cell, CAST({trial} AS BIGINT) AS trial"
    return f"SELECT {named}, * EXCLUDE (filename) FROM read_parquet([{listed}], union_by_name=true, filename=true)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
