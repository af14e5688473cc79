"""Each recording format returns the times and bytes of one topic; an invalid file raises a clear error."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hopmeter.recordings import formats, streams
from hopmeter.recordings.formats import check_topic, read_topics
from hopmeter.recordings.source import RecordingError, RecordingSource, parse_recording
from tests.coded import refuses

from .made import START_NS, payload, write_mcap, write_ros1, write_ros2

LIDAR = [(START_NS + gap, payload(gap, size)) for gap, size in [(0, 10), (7, 3), (1_000_000, 70_000), (9, 0)]]
IMU = [(START_NS + gap, b"imu!") for gap in range(0, 2_000_000, 500_000)]
TOPICS = {"/lidar/points": LIDAR, "/imu": IMU}
KINDS: dict[str, Callable[[Path], Path]] = {
    "mcap": lambda folder: write_mcap(folder / "drive.mcap", TOPICS),
    "mcap without publish times": lambda folder: write_mcap(folder / "drive.mcap", TOPICS, published=False),
    "mcap without index": lambda folder: write_mcap(folder / "drive.mcap", TOPICS, indexed=False),
    "ros1": lambda folder: write_ros1(folder / "drive.bag", TOPICS),
    "ros1 bz2": lambda folder: write_ros1(folder / "drive.bag", TOPICS, "BZ2"),
    "ros1 lz4": lambda folder: write_ros1(folder / "drive.bag", TOPICS, "LZ4"),
    "ros2 sqlite3": lambda folder: write_ros2(folder / "drive", TOPICS),
    "ros2 mcap": lambda folder: write_ros2(folder / "drive", TOPICS, "MCAP"),
}


def read(path: Path, topic: str) -> list[tuple[int, bytes]]:
    """Return the times and bytes of a topic's messages, sorted by time."""
    return sorted((each.time_ns, each.data) for each in formats.read_messages(path, {topic}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_topic_has_its_times_and_bytes(tmp_path: Path, kind: str) -> None:
    path = KINDS[kind](tmp_path)
    assert read(path, "/lidar/points") == sorted(LIDAR)
    assert read(path, "/imu") == IMU
    assert read_topics(path) == ["/imu", "/lidar/points"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_topic_that_is_missing_lists_those_there_are(tmp_path: Path, kind: str) -> None:
    source = RecordingSource(KINDS[kind](tmp_path), "/lidar")
    assert read(source.path, source.topic) == []
    with refuses(RecordingError, "E-NO-TOPIC /lidar /imu /lidar/points"):
        check_topic(source)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("ros2")])
@pytest.mark.parametrize("share", [0, 1, 20, 50])
def test_a_file_that_is_cut_off_is_an_error(tmp_path: Path, kind: str, share: int) -> None:
    path = KINDS[kind](tmp_path)
    os.truncate(path, path.stat().st_size * share // 100)
    with refuses(RecordingError, f"E-RECORDING {path}"):
        read(path, "/lidar/points")


def test_a_flipped_bit_in_a_chunk_is_an_error(tmp_path: Path) -> None:
    path = KINDS["mcap"](tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 16
    path.write_bytes(content)
    with refuses(RecordingError, "E-RECORDING damaged"):
        read(path, "/lidar/points")


def test_a_damaged_database_of_a_ros2_bag_is_an_error(tmp_path: Path) -> None:
    folder = KINDS["ros2 sqlite3"](tmp_path)
    [database] = folder.glob("*.db3")
    database.write_bytes(b"SQLite format 3\0" + bytes(5000))
    with refuses(RecordingError, "E-RECORDING damaged"):
        read(folder, "/imu")


def test_what_is_no_recording_says_what_would_be_one(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no recording")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.mcap")
    for name, expected in [
        ("notes.txt", "E-RECORDING notes.txt MCAP .db3 folder"),
        ("folder", "E-RECORDING folder .mcap .db3"),
        ("missing.mcap", "E-FILE-UNREADABLE missing.mcap"),
        ("missing", "E-FILE-UNREADABLE missing"),
        ("pipe.mcap", "E-FILE-UNREADABLE pipe.mcap regular"),
    ]:
        with refuses(RecordingError, expected):
            read(tmp_path / name, "/imu")


@pytest.mark.parametrize(
    ("kind", "package"),
    [("mcap", "backports.zstd"), ("ros1 lz4", "lz4"), ("ros2 sqlite3", "pyyaml"), ("ros2 mcap", "pyyaml")],
)
def test_a_library_that_is_not_installed_is_named_with_its_command(
    tmp_path: Path, kind: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = KINDS[kind](tmp_path)

    def import_nothing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(streams.importlib, "import_module", import_nothing)
    with refuses(RecordingError, f"E-READER-MISSING {package}") as refused:
        read(path, "/imu")
    assert f"pip install {package}" in str(refused.value)


def test_the_topic_follows_the_last_colon() -> None:
    assert parse_recording("/a:b/drive.mcap:/imu") == RecordingSource(Path("/a:b/drive.mcap"), "/imu")
    assert parse_recording("bag:t").path == Path.cwd() / "bag"
    for text in ("drive.mcap", "drive.mcap:", ":/imu", ""):
        with pytest.raises(ValueError, match="E-VALUE-FORM"):
            parse_recording(text)
