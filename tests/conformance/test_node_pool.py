"""Tests for the nodes that the conformance tests of a case share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cases import MANIFESTS, READY, Case, is_in_ring
from conformance.connection import connect, receive_frames, seqs
from conformance.node_pool import NodePool
from conformance.scripted_node import NodeError
from conformance.shared_broker import SharedBroker, configuration

UNIX = Case(MANIFESTS["unix"], "rust", "rust", "block")
CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def pool() -> Iterator[NodePool]:
    with NodePool(SharedBroker()) as pool:
        yield pool


def processes(pool: NodePool) -> list[int]:
    return [node.process.pid for node in pool.nodes]


def test_the_next_test_gets_the_same_nodes_without_their_ends(pool: NodePool) -> None:
    connect(pool, UNIX)
    first = processes(pool)
    pool.release()
    assert processes(pool) == []
    connection = connect(pool, UNIX)
    assert processes(pool) == first
    assert connection.sender.send("out", 0, 3, 100)["accepted"] == 3
    assert seqs(receive_frames(connection.receivers[0], "in0", 3)) == [0, 1, 2]
    pool.release()
    with pytest.raises(NodeError, match="no end is called `out`"):
        connection.sender.send("out", 3, 1, 100)


def test_what_is_opened_in_another_way_is_another_node(pool: NodePool) -> None:
    small = pool.node(UNIX.manifest, "rust", "block")
    pool.release()
    large = pool.node(UNIX.manifest, "rust", "block", frame_bytes=1 << 22)
    assert large.process.pid != small.process.pid


def test_a_node_that_was_killed_is_not_lent_again(pool: NodePool) -> None:
    killed = pool.node(UNIX.manifest, "rust", "block")
    killed.kill()
    pool.release()
    assert pool.node(UNIX.manifest, "rust", "block").process.pid != killed.process.pid


def test_no_node_outlives_the_theatre() -> None:
    with NodePool(SharedBroker()) as pool:
        nodes = [pool.node(UNIX.manifest, "rust", "block")]
        pool.release()
        nodes += [pool.node(UNIX.manifest, "rust", wait) for wait in ("block", "spin")]
    assert [node.process.returncode for node in nodes] == [0, 0, 0]


def test_a_failure_ends_the_nodes_and_the_next_test_starts_others(tmp_path: Path) -> None:
    suite = tmp_path / "test_sharing.py"
    suite.write_text(SUITE)
    (tmp_path / "conftest.py").write_text("from conformance.conftest import *\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, suite]
    done = subprocess.run([*command, "-c", CHECKOUT / "pyproject.toml"], cwd=tmp_path, capture_output=True, text=True)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    first, second, third = (tmp_path / "pids").read_text().split()
    assert first == second != third


SUITE = """
import pytest
from pathlib import Path
from conformance.cases import MANIFESTS, Case

CASE = pytest.mark.parametrize("case", [Case(MANIFESTS["unix"], "rust", "rust", "block")])


def record(case, pool):
    pid = pool.node(case.manifest, "rust", "block").process.pid
    with (Path(__file__).parent / "pids").open("a") as out:
        out.write(f"{pid} ")


@CASE
def test_one(case, pool):
    record(case, pool)


@CASE
def test_two(case, pool):
    record(case, pool)
    raise AssertionError


@CASE
def test_three(case, pool):
    record(case, pool)
"""


def test_the_ring_has_each_language_once_on_each_side() -> None:
    manifests = {manifest.name: manifest for manifest, _ in READY if len(manifest.offers) == 3}
    for manifest in manifests.values():
        pairs = [Case(manifest, one, other, "block") for one in manifest.offers for other in manifest.offers]
        ring = [(case.sender, case.receiver) for case in pairs if case.sender != case.receiver and is_in_ring(case)]
        assert sorted(one for one, _ in ring) == sorted(other for _, other in ring) == sorted(manifest.offers)


def test_only_settings_of_the_broker_change_its_configuration() -> None:
    mqtt = MANIFESTS["mqtt"]
    usual = mqtt.resolve_settings({})
    same = [name for name in usual if configuration(mqtt, usual) == configuration(mqtt, {**usual, name: "other"})]
    assert set(usual) - set(same) == {"nodelay", "inflight", "security"}
