"""What a puppet of the conformance suite answers when its node refuses, and when its node is dead."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.puppet import NodeDiedError, Puppet, PuppetError


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[Puppet, socket.socket]]:
    """A puppet, and its node's end of the channel."""
    ours, theirs = socket.socketpair()
    log = tmp_path / "log"
    log.write_text("Segmentation fault")
    with subprocess.Popen(["true"]) as process, ours, theirs, ours.makefile("rb") as lines:
        yield Puppet(process, ours, lines, log, lambda _: None), theirs


def test_what_a_node_refuses_is_an_answer(ends: tuple[Puppet, socket.socket]) -> None:
    puppet, node = ends
    node.sendall(json.dumps({"error": "the peer is gone", "remedy": "open it again"}).encode() + b"\n")
    with pytest.raises(PuppetError, match="the peer is gone"):
        puppet.receive("in0", 1)


def test_a_node_that_died_gives_no_answer_that_a_test_could_take_for_a_refusal(
    ends: tuple[Puppet, socket.socket],
) -> None:
    puppet, node = ends
    node.close()
    with pytest.raises(NodeDiedError, match="Segmentation fault") as died:
        puppet.receive("in0", 1)
    assert not isinstance(died.value, PuppetError)
