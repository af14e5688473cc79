"""Tests for a local node as its launcher sees it."""

from __future__ import annotations

import os
import select
import signal
import sys
from pathlib import Path

from hopmeter.runtime.processes.node import LocalNode, Start
from tests.waiting import wait_for


def test_the_end_of_a_node_is_announced_until_it_was_seen(tmp_path: Path) -> None:
    """A node may exit while its last messages are being read, and its file descriptor must stay watched until then."""
    command = (sys.executable, "-c", "import time; time.sleep(60)")
    node = LocalNode(
        Start("node 0", "python", command, {"transport": "t", "endpoints": []}, tmp_path / "spec", tmp_path / "log"),
        note_open_files=lambda _: None,
    )
    try:
        assert not node.has_ended()
        os.kill(node.pid, signal.SIGKILL)
        wait_for(lambda: select.select([node.exit_watch], [], [], 0)[0])
        assert node.exit_watch not in node.finished_sources
        assert node.has_ended() and node.exit_watch in node.finished_sources
    finally:
        node.close()
