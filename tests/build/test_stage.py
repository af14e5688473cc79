"""Tests for the files in the wheel that are not Python modules."""

from __future__ import annotations

import shutil
from pathlib import Path

from hopmeter.build import stage
from hopmeter.manifest import find_transports
from hopmeter.system import paths


def test_a_node_for_a_library_of_the_user_is_left_out(tmp_path: Path) -> None:
    assert find_transports(["ros2"])["ros2"].languages["rust"].user is not None
    built = tmp_path / "built"
    built.mkdir()
    for transport in ("ros2", "ros2-kilted", "tcp"):
        shutil.copy("/bin/true", built / paths.node_name(transport, "rust"))
    assert stage._copy_nodes(built, tmp_path / "staged") == ["hopmeter-node-tcp-rust"]
