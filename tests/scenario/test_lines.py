"""Tests that find the line of a key in a scenario file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.errors import UsageError
from hopmeter.scenario import files
from hopmeter.system.toml_lines import key_in, line_of

TEXT = '''# rate = 1
title = """
rate = 2
"""
rate = [
  10,
  20,
]
settings.tcp.port = 0

[participant]
camera = { language = "rust", cores = "0" }
[flow.frames]
from = "camera"
[[case]]
wait = "spin"
[[case]]
rate = 3
[case.settings.zeromq]
hwm = 1
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("title", 2),
        ("rate", 5),
        ("settings.tcp.port", 9),
        ("participant", 11),
        ("participant.camera", 12),
        ("participant.camera.cores", 12),
        ("participant.camera.fifo", 12),
        ("flow.frames.from", 14),
        ("flow.frames.to", 13),
        ("case", 15),
        ("case.0.wait", 16),
        ("case.1.wait", 17),
        ("case.1.rate", 18),
        ("case.1.settings.zeromq.hwm", 20),
        ("budget", None),
    ],
)
def test_the_line_of_a_key_or_of_the_table_around_it(key: str, line: int | None) -> None:
    assert line_of(TEXT, key.split(".")) == line


def test_the_key_is_the_beginning_of_a_message() -> None:
    assert key_in("flow.a.to: participant …") == ("flow", "a", "to")
    assert key_in("[flow] is missing; …") == ("flow",)
    assert key_in("“x”") == ()


def test_each_error_of_a_file_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('title = "t"\nquestion = "q?"\nwait = "bock"\n\n[[case]]\nrate = -1\n')
    with pytest.raises(UsageError) as refused:
        files.load(path)
    first, second = str(refused.value).splitlines()[:2]
    assert first.startswith(f"{path}:3: wait: ")
    assert second.startswith(f"{path}:6: case.0.rate = -1")


def test_what_no_line_says_has_no_line(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('title = "t"\n')
    with pytest.raises(UsageError) as refused:
        files.load(path)
    assert str(refused.value).startswith(f"{path}: question is missing")
