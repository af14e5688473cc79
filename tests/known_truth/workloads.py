"""Run a workload over `synthetic`, and read the samples and causes of its first trial."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hopmeter.model.cell import Cell
from hopmeter.plan.topology import topology
from hopmeter.store.causes import read_causes
from hopmeter.store.run_folder import RunFolder
from tests.command import hopmeter

HEAD = """
title = "Known truth"
question = "Is a workload over a transport that misbehaves by plan measured as exactly that?"
transport = "synthetic"
wait = "block"
cores = "free"
duration = "1s"
trials = 1
"""
"""Settings of every workload, which lasts one second."""
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Trial:
    """The rows of a run by flow or path, and the samples of its only trial."""

    rows: dict[str, dict[str, Any]]
    cell: Cell
    samples: Path

    def end(self, flow: str, place: int) -> int:
        """Return an endpoint of a flow: place 0 is the sender, place 1 the first target."""
        assert self.cell.workload is not None
        return topology(self.cell).flows[self.cell.workload.flow(flow).number][place].id

    def times(self, flow: str, place: int, column: str) -> dict[int, int]:
        """Return one of the recorded times of each message at an endpoint of a flow, in ns."""
        table = pq.read_table(self.samples, filters=[("endpoint", "=", self.end(flow, place))])
        return dict(zip(table.column("seq").to_pylist(), table.column(column).to_pylist(), strict=True))

    def calls(self, flow: str, server: int = 0) -> dict[int, tuple[int, int]]:
        """Return the send time and the reply time of each call in ns, for calls to one server."""
        filters = [("endpoint", "=", self.end(flow, 0)), ("copy", "=", server)]
        table = pq.read_table(self.samples, filters=filters)
        spans = zip(table.column("sent_ns").to_pylist(), table.column("arrived_ns").to_pylist(), strict=True)
        return dict(zip(table.column("seq").to_pylist(), spans, strict=True))

    def services(self, flow: str, place: int = 1) -> dict[int, tuple[int, int]]:
        """Return the arrival time of each call at a server and the server's reply time, in ns."""
        arrived, replied = self.times(flow, place, "arrived_ns"), self.times(flow, place, "forwarded_ns")
        return {seq: (arrived[seq], replied[seq]) for seq in arrived}

    def causes(self, flow: str, cause: str) -> dict[int, int]:
        """Return, for each message of a flow, the causing message of another flow."""
        found = read_causes(self.samples)
        assert self.cell.workload is not None
        place = 1 + self.cell.workload.flow(cause).targets.index(self.cell.workload.flow(flow).source)
        mine = (found["endpoint"] == self.end(flow, 0)) & (found["cause_endpoint"] == self.end(cause, place))
        return dict(zip(found["seq"][mine].tolist(), found["cause_seq"][mine].tolist(), strict=True))


def most_at_once(spans: Iterable[tuple[int, int]]) -> int:
    """Return the maximum number of overlapping intervals."""
    changes = sorted(change for begun, done in spans for change in ((begun, 1), (done, -1)))
    return max(itertools.accumulate(step for _, step in changes))


def measure_workload(folder: Path, tables: str, settings: str, drain: str = "500ms", more: str = "") -> Trial:
    """Run a workload once; `more` contains additional scenario keys."""
    scenario = folder / "workload.toml"
    scenario.write_text(f'{HEAD}drain = "{drain}"\n{more}\nsettings.synthetic = {{ {settings} }}\n{tables}')
    done = hopmeter("run", scenario, "--out", folder / "run", "--no-report", "--json")
    assert done.returncode == 0, done.stderr
    run = RunFolder.open(folder / "run")
    (cell,) = run.cells
    rows = pq.read_table(folder / "run/cells.parquet").to_pylist()
    return Trial({row["flow"] or row["path"]: row for row in rows}, cell, folder / f"run/samples/{cell.id}-0.parquet")
