"""Reads the results of a run: its cells and trials, as tables and reports show them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from hopmeter.analysis.floors import headline
from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.store import RunFolder
from hopmeter.store.disk import StoreError
from hopmeter.store.formats import convert_row

TAILS = ("p99", "p999")
"""The percentiles that are shown only with their intervals."""


STEAL = "steal time"
"""The subject of the finding about steal since boot."""


@dataclass(frozen=True, eq=False)
class Row:
    """One cell of a run: its plan in `run.json` and its row in `cells.parquet`."""

    run: Run
    cell: Cell
    values: dict[str, Any]

    def __getitem__(self, column: str) -> Any:
        value = self.values.get(column)
        return self.cell.get(column) if value is None else value

    @property
    def id(self) -> str:
        """Unique within its run."""
        return self.cell.id

    @property
    def ok(self) -> bool:
        """Whether it has a valid latency: it was measured, and was neither overloaded nor broken."""
        return self["status"] == "ok" and self.p50 is not None

    @property
    def candidate(self) -> bool:
        """Whether it takes part in the ranking; floors that the planner added and `synthetic` do not."""
        return self["ranked"] is not False

    @property
    def recommendable(self) -> bool:
        """Whether an answer may name it as the transport to use: a candidate that is a library to install."""
        return self.candidate and self["installable"] is not False

    @property
    def is_floor(self) -> bool:
        """Whether other cells of the run are compared with it."""
        return any(row.cell.comparison.floor == self.id for row in self.run.rows)

    @property
    def headline(self) -> str:
        """The latency that this cell is ranked by."""
        return headline(self.cell)

    def latency(self, column: str) -> float | None:
        """Return a column of the headline latency: `p50`, `p50_low`, `p99`, …"""
        value = self[f"{self.headline}_{column}_us"]
        return None if value is None else float(value)

    @property
    def p50(self) -> float | None:
        """The median in microseconds."""
        return self.latency("p50")

    def tail(self, column: str) -> float | None:
        """Return a percentile of the tail, None without its interval: alone it would pass for a result."""
        return self.latency(column) if self.latency(f"{column}_low") is not None else None

    @property
    def loss(self) -> float | None:
        """The share of sent messages that never arrived."""
        return self["lost"] / expected if (expected := (self["lost"] or 0) + (self["received"] or 0)) else None

    @property
    def trials(self) -> list[dict[str, Any]]:
        """Its trials, good and failed."""
        return [trial for trial in self.run.trials if trial["cell"] == self.id]


@dataclass
class Run:
    """One run folder."""

    folder: Path
    about: dict[str, Any]
    trials: list[dict[str, Any]]
    rows: list[Row] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The folder's name: start and scenario."""
        return self.folder.name

    def text(self, key: str) -> str:
        """Return a text of `run.json`; empty if it is missing."""
        value = self.about.get(key)
        return "" if value is None else str(value)

    def part(self, key: str) -> dict[str, Any]:
        """Return an object of `run.json`; empty if it is missing."""
        value = self.about.get(key)
        return value if isinstance(value, dict) else {}

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings of `hopmeter doctor`: subject, level, says, remedy. Steal since boot is not among them: the
        trials have their own."""
        found = self.about.get("doctor")
        found = found.get("findings") if isinstance(found, dict) else found
        return [finding for finding in found or [] if isinstance(finding, dict) and finding.get("subject") != STEAL]

    @property
    def measured_rows(self) -> list[Row]:
        """The cells that were not dropped before the run began."""
        return [row for row in self.rows if row["status"] != "dropped"]

    @property
    def quick(self) -> bool:
        """Whether its trials are too few or too short for a decision."""
        return bool(self.about.get("quick")) or any(row["quick"] for row in self.measured_rows)


def read(folder: Path) -> Run:
    """Read a run that has its tables.

    Raises UsageError if there is none or it was never finished, and StoreError if it is damaged.
    """
    stored = RunFolder.open(folder)
    run = Run(stored.path, stored.about, [asdict(trial) for trial in stored.trials])
    planned = {cell.id: cell for cell in stored.cells}
    run.rows = [Row(run, planned[row["cell"]], row) for row in _cells(stored.path) if row["cell"] in planned]
    return run


def _cells(folder: Path) -> list[dict[str, Any]]:
    path = folder / "cells.parquet"
    if not path.exists():
        raise UsageError(
            "E-RUN-UNFINISHED", f"{folder} has no {path.name}", f"finish the run with `hopmeter run --resume {folder}`"
        )
    try:
        return [convert_row(row) for row in pl.read_parquet(path).to_dicts()]
    except (OSError, pl.exceptions.PolarsError) as cause:
        raise StoreError(
            "E-FILE-DAMAGED", f"{path} cannot be read: {cause}", "restore it from a copy, or measure again"
        ) from cause
