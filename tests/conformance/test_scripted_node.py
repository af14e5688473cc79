"""Tests for the failure reports of a scripted node whose process answers with an error or has exited."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.scripted_node import NodeDiedError, NodeError, ScriptedNode


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[ScriptedNode, socket.socket]]:
    ours, theirs = socket.socketpair()
    log = tmp_path / "log"
    log.write_text("Segmentation fault")
    with subprocess.Popen(["true"]) as process, ours, theirs, ours.makefile("rb") as lines:
        yield ScriptedNode(process, ours, lines, log, lambda _: None), theirs


def test_what_a_node_refuses_is_an_answer(ends: tuple[ScriptedNode, socket.socket]) -> None:
    scripted, node = ends
    node.sendall(json.dumps({"error": "the peer is gone", "remedy": "open it again"}).encode() + b"\n")
    with pytest.raises(NodeError, match="the peer is gone"):
        scripted.receive("in0", 1)


def test_a_node_that_died_gives_no_answer_that_a_test_could_take_for_a_refusal(
    ends: tuple[ScriptedNode, socket.socket],
) -> None:
    scripted, node = ends
    node.close()
    with pytest.raises(NodeDiedError, match="Segmentation fault") as died:
        scripted.receive("in0", 1)
    assert not isinstance(died.value, NodeError)
