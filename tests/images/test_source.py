"""Tests for payloads that name a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.images import Source, parse_source
from hopmeter.images.source import of_file

HERE = Path.cwd()


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("image:one.png", Source("image", HERE / "one.png")),
        ("video:640x480:/a/one.mp4", Source("video", Path("/a/one.mp4"), (640, 480))),
        ("video:~/one.mp4", Source("video", Path.home() / "one.mp4")),
        ("image:./640x480", Source("image", HERE / "640x480")),
        ("image:640x480", None),
        ("image:1440", None),
        ("video:camera", None),
        ("file:one.png", None),
        ("bytes:10", None),
    ],
)
def test_a_path_has_a_dot_or_a_slash_and_a_size_may_stand_before_it(text: str, source: Source | None) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize(
    ("name", "kind"), [("a.png", "image"), ("a.JPG", "image"), ("a.gif", "video"), ("a.mp4", "video"), ("a", "video")]
)
def test_a_file_is_an_image_by_its_name_or_a_video(name: str, kind: str) -> None:
    assert of_file(Path(name), None) == Source(kind, HERE / name)
