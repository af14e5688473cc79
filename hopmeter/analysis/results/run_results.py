"""Read the cells, trials and results of a run, for tables and reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.latency.percentiles import PERMILLE, State, state
from hopmeter.analysis.ranking.ranks_and_floors import set_floors, set_ranks
from hopmeter.analysis.ranking.rates import rank_rates
from hopmeter.analysis.ranking.rounds import TableRanking, rank_tables
from hopmeter.analysis.workload.workload_ranking import WorkloadRanking, rank_workloads
from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.model.column_types import TypedColumns
from hopmeter.model.row_role import Role, role_of
from hopmeter.plan.workloads.workload_cells import rows_of, whole_id
from hopmeter.store.disk import check_files
from hopmeter.store.formats import convert_row
from hopmeter.store.parquet_rows import read_rows
from hopmeter.store.run_folder import RunFolder

OF_TRIALS = ("median_us", "deadlines", "missed", "missed_least", "missed_most", "cpu_core_percent")
"""The columns of `trials.parquet` that rankings need."""
TAILS = ("p99", "p999")
"""The percentiles that are shown only with a confidence interval."""


STEAL = "steal time"
IDLE_STATES = "F-IDLE-STATES"
"""The code of the idle-state finding. `STEAL` is the subject of the finding about stolen time since boot."""


@dataclass(frozen=True, eq=False)
class Row(TypedColumns):
    """One cell of a run: its plan from `run.json` and its row of `cells.parquet`. columns.toml defines the columns."""

    run: Run
    cell: Cell
    values: dict[str, Any]

    def get(self, column: str) -> Any:
        """Return the value of the named column, or None if there is no such column."""
        value = self.values.get(column)
        return self.cell.get(column) if value is None else value

    @property
    def id(self) -> str:
        """The id of the cell, unique within its run."""
        return self.cell.id

    @property
    def ok(self) -> bool:
        """Whether the row has a valid latency: its cell was measured, did not fail and was not overloaded."""
        return self["status"] == "ok" and self.p50 is not None

    @property
    def candidate(self) -> bool:
        """Whether the row can be ranked. `synthetic` and the floors that the planner added are never ranked."""
        return self["ranked"] is not False

    @property
    def recommendable(self) -> bool:
        """Whether a recommendation may name this row: a candidate that a user can install."""
        return self.role is Role.CHOICE

    @property
    def role(self) -> Role:
        """The row's role in its table: choice, floor, reference or unranked."""
        return role_of(self.candidate, self["installable"] is not False, self.is_floor)

    @property
    def is_floor(self) -> bool:
        """Whether the row is the floor of other cells in the run."""
        return any(row.cell.comparison.floor == self.id for row in self.run.rows)

    @property
    def headline(self) -> str:
        """The name of the latency by which this row is ranked."""
        return headline(self.cell)

    def latency(self, column: str) -> float | None:
        """Return a statistic of the headline latency over all messages, such as `p99`, `p99_low` or `mean`."""
        value = self.get(f"{self.headline}_{column}_us")
        return None if value is None else float(value)

    @property
    def p50(self) -> float | None:
        """The median, in µs, by which the row is ranked. The median is computed from rounds if possible, otherwise from
        all messages."""
        return self.median(self.headline)

    def median(self, latency: str) -> float | None:
        """Return the median of a latency in µs. For the headline latency, the result is the median by which the row is
        ranked; for any other latency, it is the median of all messages."""
        by_rounds = self["median_us"] if latency == self.headline else None
        value = self.get(f"{latency}_p50_us") if by_rounds is None else by_rounds
        return None if value is None else float(value)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The 95 % interval of the median, or None if there are too few good trials."""
        source = "median{}_us" if self["median_us"] is not None else f"{self.headline}_p50{{}}_us"
        low, high = self.get(source.format("_low")), self.get(source.format("_high"))
        return None if low is None or high is None else (float(low), float(high))

    @property
    def criteria(self) -> tuple[float, ...]:
        """The sort key of a whole workload's row: the row's ranks, then its ranking criteria in order of importance."""
        names = ("rank_low", "rank_high", "missed_share", "worst_p99_ratio", "cpu_core_percent")
        return tuple(math.inf if self.get(name) is None else float(self.get(name)) for name in names)

    def interval(self, column: str) -> tuple[float | None, float | None]:
        """Return the 95 % interval of the median (`p50`) or of a tail percentile."""
        if column == "p50":
            return self.bounds or (None, None)
        return self.latency(f"{column}_low"), self.latency(f"{column}_high")

    def state(self, column: str) -> State:
        """Return whether a percentile of the headline latency is known, lost or unresolved.

        Older versions of hopmeter stored only the total number of lost messages. For a run of an older version, the
        state is estimated from the number of lost messages.
        """
        arrived = self.get(f"{self.headline}_count") or 0
        lost = self.get(f"{self.headline}_lost")
        permille = PERMILLE.get(column)
        if permille is None:
            return "known"
        if lost is None:
            lost = round(arrived * self.loss / (1 - self.loss)) if self.loss and self.loss < 1 else 0
        return state(arrived, lost, permille)

    def tail(self, column: str) -> float | None:
        """Return a tail percentile, or None if it has no confidence interval. A tail percentile without an interval
        would look more reliable than it is.

        One bound of the confidence interval may be missing.
        """
        return self.latency(column) if self.interval(column) != (None, None) else None

    @property
    def loss(self) -> float | None:
        """The fraction of sent messages that never arrived."""
        lost, received = self["lost"], self["received"] or 0
        return lost / (lost + received) if lost is not None and lost + received else None

    @property
    def trials(self) -> list[dict[str, Any]]:
        """All trials of the row, good and failed. For a flow or path, these are all trials of the whole workload."""
        whole = whole_id(self.cell)
        return [trial for trial in self.run.trials if trial["cell"] == whole]


@dataclass
class Run:
    """A run folder: its metadata, trials and rows."""

    folder: Path
    about: dict[str, Any]
    trials: list[dict[str, Any]]
    rows: list[Row] = field(default_factory=list)
    flow_trials: list[dict[str, Any]] = field(default_factory=list)
    """The values of each flow and path of a workload, by trial."""

    @property
    def name(self) -> str:
        """The name of the folder, which contains the start time and the scenario."""
        return self.folder.name

    def text(self, key: str) -> str:
        """Return a string from `run.json`, or an empty string if the key is missing."""
        value = self.about.get(key)
        return "" if value is None else str(value)

    def part(self, key: str) -> dict[str, Any]:
        """Return an object from `run.json`, or an empty object if the key is missing."""
        value = self.about.get(key)
        return value if isinstance(value, dict) else {}

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings of `hopmeter doctor`, each with subject, level, text and remedy.

        The finding on stolen time since boot is left out, because the stolen time of each trial is recorded as well.
        The finding on idle states is left out if the cells kept the cores awake.
        """
        found = self.about.get("doctor")
        return self._without_known(found.get("findings") if isinstance(found, dict) else found)

    @property
    def host_findings(self) -> list[tuple[list[str], dict[str, Any]]]:
        """The problems that distort results on the run's other hosts. Each entry lists the hosts that have the
        problem."""
        grouped: dict[str, tuple[list[str], dict[str, Any]]] = {}
        for name, host in self.part("hosts").items():
            for each in self._without_known(host.get("doctor") if isinstance(host, dict) else None):
                if each.get("level") == "hurts":
                    grouped.setdefault(str(sorted(each.items())), ([], each))[0].append(name)
        return list(grouped.values())

    def _without_known(self, found: Any) -> list[dict[str, Any]]:
        findings = [each for each in found or [] if isinstance(each, dict) and each.get("subject") != STEAL]
        awake = any(row.cell.nodes.no_idle_states for row in self.measured_rows)
        return [each for each in findings if not (awake and each.get("code") == IDLE_STATES)]

    @property
    def measured_rows(self) -> list[Row]:
        """The rows of the cells that were not dropped before the run started. A repeated search has only the row of its
        first cell, which contains its result."""
        return [row for row in self.rows if row["status"] != "dropped" and not row.cell.comparison.search_round]

    @cached_property
    def rankings(self) -> dict[str, TableRanking]:
        """The ranking of each table, computed from its rounds and keyed by table id. The dict is empty if the rounds
        are unknown."""
        rows = {row.id: row.values for row in self.rows}
        cells = [row.cell for row in self.rows]
        trials, until = [*self.trials, *self.flow_trials], self.part("scenario").get("until")
        found = rank_tables(cells, rows, trials, self.part("looks"), until)
        return found | rank_rates(cells, rows, self.trials)

    @cached_property
    def workload_rankings(self) -> dict[str, WorkloadRanking]:
        """The ranking of each whole workload, keyed by table id."""
        rows = {row.id: row.values for row in self.rows}
        return rank_workloads([row.cell for row in self.rows], rows, self.trials, self.flow_trials)

    @property
    def quick(self) -> bool:
        """Whether the run has too few or too short trials for a decision."""
        return bool(self.about.get("quick")) or any(row["quick"] for row in self.measured_rows)


def read(folder: Path, trials: bool = True) -> Run:
    """Read a run with its result tables. If `trials` is False, the trials of the run are not read.

    Raises UsageError if there is no run or the run was never finished, and StoreError if the run is damaged.
    """
    stored = RunFolder.open(folder, trials)
    known = _trial_values(stored.path) if trials else {}
    measured = [asdict(trial) | known.get((trial.cell, trial.trial), {}) for trial in stored.trials]
    flow_trials = _stored_rows(stored.path / "flows.parquet") if trials else []
    run = Run(stored.path, stored.about, measured, flow_trials=flow_trials)
    # A separately measured flow has no row of its own: the result is stored in the flow's row of the whole workload.
    planned = {each.id: each for cell in stored.cells if not cell.comparison.alone for each in rows_of(cell)}
    run.rows = [Row(run, planned[row["cell"]], row) for row in _cells(stored.path) if row["cell"] in planned]
    if trials and any(row["rank_low"] is not None and row["stopped_early"] is None for row in run.rows):
        _rank_again(run)
    return run


def _rank_again(run: Run) -> None:
    """Rank an old run again by the current rules. Older versions of hopmeter ranked not only installable transports but
    also references."""
    cells, rows = [row.cell for row in run.rows], [row.values for row in run.rows]
    set_ranks(cells, rows, run.rankings)
    set_floors(cells, rows, run.rankings)


def read_finished(folder: Path, trials: bool = True) -> Run:
    """Read a finished run with its trials, because comparisons and histories need the trials.

    Raises UsageError if there is no run or the run was interrupted, and StoreError if the run is damaged.
    """
    run = read(folder, trials)
    if run.folder.name.startswith("."):
        remedy = f"finish it with `hopmeter run --resume {folder}`"
        raise UsageError("E-RUN-UNFINISHED", f"{folder} was interrupted, so it lacks trials", remedy)
    check_files(run.folder, ["trials.parquet"])
    return run


def _trial_values(folder: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Return, for each trial, the values that rankings need. Runs of old versions may lack the values that rankings
    need."""
    rows = _stored_rows(folder / "trials.parquet", ("cell", "trial", *OF_TRIALS))
    return {(row.pop("cell"), row.pop("trial")): row for row in rows}


def _stored_rows(path: Path, columns: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of an optional table, or no rows if the file does not exist."""
    return read_rows(path, columns) if path.exists() else []


def _cells(folder: Path) -> list[dict[str, Any]]:
    path = folder / "cells.parquet"
    if not path.exists():
        raise UsageError(
            "E-RUN-UNFINISHED", f"{folder} has no {path.name}", f"finish the run with `hopmeter run --resume {folder}`"
        )
    return [convert_row(row) for row in read_rows(path)]
