"""Tests for a node that the launcher kills and starts again in the middle of a trial."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from tests.coded import lacking

from .conftest import Bench

RESTART: dict[str, Any] = {"restart": "sink", "pause": "50ms", "messages": 1000}


def test_the_sink_is_killed_and_another_takes_its_place(bench: Bench) -> None:
    result = bench.trial(**RESTART)
    assert result.good and len(bench.raw) == 2
    assert result.killed_ns and result.restarted_ns and result.ready_ns
    assert result.start_ns + 225_000_000 <= result.killed_ns <= result.restarted_ns - 50_000_000
    assert result.restarted_ns < result.ready_ns
    assert [[each["role"] for each in node["endpoints"]] for node in result.nodes] == [["source"], ["sink"]]
    assert result.nodes[1]["spawned_ns"] == result.restarted_ns
    assert not any(psutil.pid_exists(node["pid"]) for node in result.nodes)


@pytest.mark.parametrize(
    ("breaks", "expected"), [("fails again", "E-NODE-FAILED port"), ("hangs again", "E-NODE-SILENT")]
)
def test_a_sink_that_does_not_start_again_is_a_result(bench: Bench, breaks: str, expected: str) -> None:
    before = set(psutil.Process().children())
    result = bench.trial(breaks, **RESTART)
    assert (result.good, result.ready_ns, len(bench.raw)) == (True, None, 1)
    assert result.restarted_ns
    assert lacking(result.restart_error or "", expected) == []
    assert set(psutil.Process().children()) <= before


def test_the_end_of_another_node_fails_the_trial(bench: Bench) -> None:
    result = bench.trial("source crashes", **RESTART)
    assert not result.good
    assert lacking(result.reason, "E-NODE-DIED source") == []
