"""The generated code of every message that ROS 2 ships compiles, and encodes the same bytes as rosbags."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.build.messages import MessageTarget, build_library
from hopmeter.schemas.library import languages
from hopmeter.schemas.ros2.standard import standard_folder


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("language", languages("cdr"))
def test_one_message_of_all_messages_is_built(language: str, tmp_path: Path, log: Path) -> None:
    names = [f"{file.parent.parent.name}/{file.stem}" for file in sorted(standard_folder().glob("*/msg/*.msg"))]
    (tmp_path / "all_msgs/msg").mkdir(parents=True)
    definition = "".join(f"{name} field{at}\n" for at, name in enumerate(names))
    (tmp_path / "all_msgs/msg/All.msg").write_text(definition)
    target = MessageTarget(f"message:{tmp_path}/all_msgs/msg/All.msg", "cdr", language)
    assert build_library(target, log).facts["bytes"] > 10_000
