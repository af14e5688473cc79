"""A stored run: its tables, its answer and its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hopmeter.analysis.results import run_results
from hopmeter.api import tables
from hopmeter.errors import UsageError
from hopmeter.model.columns import CELLS, PROCESSES
from hopmeter.report.words import formatting
from hopmeter.store import query
from hopmeter.store.schemas import table

if TYPE_CHECKING:
    import altair as alt
    import duckdb

RunPath = str | PathLike[str]


class Run:
    """A stored run. The tables are Arrow tables: use `run.cells.to_pandas()` or `polars.from_arrow(run.cells)`."""

    def __init__(self, results: run_results.Run) -> None:
        self.results = results
        """The results in hopmeter's internal form, which may change in any version. The tables keep their form across
        versions."""

    def __repr__(self) -> str:
        return f"<hopmeter.Run {str(self.path)!r}: {formatting.plural(len(self.results.rows), 'cell')}>"

    @property
    def path(self) -> Path:
        """The path of the run directory."""
        return self.results.folder

    @property
    def name(self) -> str:
        """The name of the run directory."""
        return self.results.name

    @property
    def about(self) -> dict[str, Any]:
        """The metadata in `run.json`, such as the scenario, the command, versions and the machine."""
        return self.results.about

    @property
    def answer(self) -> list[str]:
        """The sentences that answer the run's question, the most important first."""
        from hopmeter.analysis.results.groups import groups
        from hopmeter.report.answer import answer

        return answer([self.results], groups([self.results]))

    @property
    def cells(self) -> pa.Table:
        """A table with a row for each cell, including dropped cells. docs/metrics.md explains the columns."""
        return table((row.values for row in self.results.rows), CELLS)

    @property
    def ranking(self) -> pa.Table:
        """A table with the possible ranks, the median and the latency relative to the best cell, for each ranked cell.

        Cells with the same `group` are ranked together. References have no rank and come last in their group.
        """
        return tables.ranking_table(row.values for row in self.results.rows)

    @property
    def pairs(self) -> pa.Table:
        """A table with a row for each compared pair of cells. `ratio` is the latency of `b` divided by the latency of
        `a`."""
        return table(pair_rows(self.results), tables.PAIRS)

    @property
    def trials(self) -> pa.Table:
        """A table with a row for each trial."""
        return self._query("SELECT * EXCLUDE (run) FROM trials")

    @property
    def processes(self) -> pa.Table:
        """A table with the CPU time, memory and context switches of each process of each trial. The table is empty for
        runs of earlier versions."""
        if not (self.path / "processes.parquet").exists():
            return table([], PROCESSES)
        return self._query("SELECT * EXCLUDE (run) FROM processes")

    def samples(self, cell: str) -> pa.Table:
        """Return all samples of a cell as a table with a row for each message at each endpoint. All times are in
        nanoseconds.

        `cell` is the id of a cell, or its number such as `c3`. Raises UsageError for an unknown cell.
        """
        found = find_cell(self.results, cell).id
        return self._query("SELECT * EXCLUDE (run) FROM samples WHERE cell = $cell ORDER BY trial", cell=found)

    def messages(self, cell: str | None = None) -> pa.Table:
        """Return a table with a row for each message that arrived, with its `delay` in seconds. By default, the table
        covers all cells."""
        from hopmeter.report.notebook import messages

        found = messages(self.path).to_arrow()
        if cell is None:
            return found
        from pyarrow import compute  # this module is slow to load, and few programs need it

        return found.filter(compute.equal(found["cell"], find_cell(self.results, cell).id))

    def report(self, out: RunPath = "report.html", figures: RunPath | None = None, others: Sequence[Run] = ()) -> Path:
        """Write the HTML report of this run and of the runs `others`, and return its path.

        `figures` is the directory for the figures as SVG and PNG, by default `<out>.figures`.
        """
        from hopmeter.report import write

        folders = [self.path, *(each.path for each in others)]
        return write(folders, Path(out), None if figures is None else Path(figures))

    def boxes(self, *others: Run) -> alt.TopLevelMixin:
        """Return an Altair chart with a box for each codec, transport and language in this run and in the runs
        `others`."""
        from hopmeter.report import boxes

        return boxes(self.path, *(each.path for each in others))

    def _query(self, sql: str, **values: str) -> pa.Table:
        return self._database.sql(sql, params=values).to_arrow_table()

    @cached_property
    def _database(self) -> duckdb.DuckDBPyConnection:
        return query.connect([self.path])


def open_run(path: RunPath) -> Run:
    """Open a run directory or a file that `hopmeter pack` wrote.

    Raises UsageError if `path` contains no run or the run has no results, and StoreError if the run is damaged.
    """
    return Run(run_results.read(Path(path)))


def find_cell(run: run_results.Run, cell: str) -> run_results.Row:
    """Return the row of a cell. `cell` is the cell's id or its number, such as `c3`. In a workload, `cell` may also be
    `c3.FLOW`.

    Raises UsageError for an unknown cell.
    """
    for row in run.rows:
        number, part = row.id.partition("-")[0], row.cell.flow or row.cell.path
        if cell in (row.id, f"{number}.{part}" if part else number):
            return row
    named = ", ".join(row.id for row in run.rows[:20])
    raise UsageError("E-UNKNOWN-CELL", f"{run.name} has no cell {cell}", f"name one of {named}")


def pair_rows(run: run_results.Run) -> Iterator[dict[str, Any]]:
    """Yield each comparison of two cells, table by table. Two whole workloads are compared once for each criterion."""
    for group, ranking in run.rankings.items():
        for each in ranking.comparisons:
            yield {"group": group, **asdict(each)}
    for group, whole in run.workload_rankings.items():
        for criterion, pair in whole.all_pairs:
            names = ("a", "b", "ratio", "low", "high", "decided", "family", "difference")
            yield {"group": group, **{name: getattr(pair, name) for name in names}, "criterion": criterion}
