"""How tests of conformance share the nodes of a case."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cases import EVERY, READY, Case, is_in_ring
from conformance.meeting import meet, received, seqs
from conformance.puppet import PuppetError
from conformance.theatre import Theatre

UNIX = Case(EVERY["unix"], "rust", "rust", "block")
CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def theatre() -> Iterator[Theatre]:
    """Without nodes at first."""
    with Theatre() as theatre:
        yield theatre


def processes(theatre: Theatre) -> list[int]:
    """Those of the nodes that this test has."""
    return [puppet.process.pid for puppet in theatre.puppets]


def test_the_next_test_gets_the_same_nodes_without_their_ends(theatre: Theatre) -> None:
    meet(theatre, UNIX)
    first = processes(theatre)
    theatre.rest()
    assert processes(theatre) == []
    meeting = meet(theatre, UNIX)
    assert processes(theatre) == first
    assert meeting.sender.send("out", 0, 3, 100)["accepted"] == 3
    assert seqs(received(meeting.receivers[0], "in0", 3)) == [0, 1, 2]
    theatre.rest()
    with pytest.raises(PuppetError, match="no end is called `out`"):
        meeting.sender.send("out", 3, 1, 100)


def test_what_is_opened_in_another_way_is_another_node(theatre: Theatre) -> None:
    small = theatre.puppet(UNIX.manifest, "rust", "block")
    theatre.rest()
    large = theatre.puppet(UNIX.manifest, "rust", "block", frame_bytes=1 << 22)
    assert large.process.pid != small.process.pid


def test_a_node_that_was_killed_is_not_lent_again(theatre: Theatre) -> None:
    killed = theatre.puppet(UNIX.manifest, "rust", "block")
    killed.kill()
    theatre.rest()
    assert theatre.puppet(UNIX.manifest, "rust", "block").process.pid != killed.process.pid


def test_no_node_outlives_the_theatre() -> None:
    with Theatre() as theatre:
        puppets = [theatre.puppet(UNIX.manifest, "rust", "block")]
        theatre.rest()
        puppets += [theatre.puppet(UNIX.manifest, "rust", wait) for wait in ("block", "spin")]
    assert [puppet.process.returncode for puppet in puppets] == [0, 0, 0]


def test_the_tests_of_a_case_run_side_by_side() -> None:
    order = collected("unix-rust-block]")
    assert order[0] == "test_ends_that_close_leave_nothing"
    shared = order[: order.index("test_a_process_that_ends_leaves_no_file_and_no_segment")]
    assert {"test_many_topics_do_not_mix", "test_every_receiver_gets_every_frame"} < set(shared)
    assert not any("killed" in name for name in shared)


def collected(ids: str) -> list[str]:
    """The names of the conformance tests with such an id, in the order in which they run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "conformance"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.partition("::")[2].partition("[")[0] for line in listed if line.endswith(ids)]


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
from conformance.cases import EVERY, Case

CASE = pytest.mark.parametrize("case", [Case(EVERY["unix"], "rust", "rust", "block")])


def noted(case, theatre):
    pid = theatre.puppet(case.manifest, "rust", "block").process.pid
    with (Path(__file__).parent / "pids").open("a") as out:
        out.write(f"{pid} ")


@CASE
def test_one(case, theatre):
    noted(case, theatre)


@CASE
def test_two(case, theatre):
    noted(case, theatre)
    raise AssertionError


@CASE
def test_three(case, theatre):
    noted(case, theatre)
"""


def test_the_ring_has_each_language_once_on_each_side() -> None:
    manifests = {manifest.name: manifest for manifest, _ in READY if len(manifest.offers) == 3}
    for manifest in manifests.values():
        pairs = [Case(manifest, one, other, "block") for one in manifest.offers for other in manifest.offers]
        ring = [(case.sender, case.receiver) for case in pairs if case.sender != case.receiver and is_in_ring(case)]
        assert sorted(one for one, _ in ring) == sorted(other for _, other in ring) == sorted(manifest.offers)
