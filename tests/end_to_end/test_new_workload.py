"""`hopmeter new workload` writes a workload that runs unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.coded import lacking
from tests.command import Ran

pytestmark = pytest.mark.slow


def test_the_example_runs_as_it_is_over_two_transports(run_in: Callable[..., Ran], tmp_path: Path) -> None:
    made = run_in("new", "workload", "first.toml")
    assert (made.returncode, made.stdout) == (0, "first.toml\n")
    done = run_in("run", "first.toml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    received = {(row["transport"], row["flow"]): row["received"] for row in rows if row["flow"]}
    flows = {"frames": 180, "objects": 90, "commands": 300, "ask": 15}
    assert received == {(transport, flow): many for transport in ("zeromq", "nng") for flow, many in flows.items()}
    assert {row["lost"] for row in rows} == {0}
    again = run_in("new", "workload", "first.toml")
    assert again.returncode == 2
    assert lacking(again.stderr, "E-EXISTS first.toml --force") == []


def test_the_workload_of_a_topology_has_its_name(run_in: Callable[..., Ran], tmp_path: Path) -> None:
    publisher = '{"topic_name": "t", "msg_type": "stamped1kb", "period_ms": 20}'
    subscriber = '{"topic_name": "t", "msg_type": "stamped1kb"}'
    nodes = f'{{"node_name": "a", "publishers": [{publisher}]}}, {{"node_name": "b", "subscribers": [{subscriber}]}}'
    (tmp_path / "table_mountain.json").write_text(f'{{"nodes": [{nodes}]}}')
    made = run_in("new", "workload", "--from", "table_mountain.json")
    assert (made.returncode, made.stdout) == (0, "table-mountain.toml\n"), made.stderr
    planned = run_in("run", "table-mountain.toml", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "deadline 20 ms" in " ".join(planned.stdout.split())
