"""Tests for the message types that recordings contain."""

from __future__ import annotations

import sqlite3
from itertools import islice
from pathlib import Path

import pytest

from hopmeter.recordings.formats import read_types
from hopmeter.recordings.message import RecordedType

from .made import START_NS, write_ros1
from .mcap_bytes import Parts, Sent, every_combination, write
from .ros2_bags import write_database

MESSAGES = [Sent(topic, START_NS + place, b"x") for place in range(6) for topic in ("/a", "/b")]
ODOMETRY = ("nav_msgs/msg/Odometry", "ros2msg", "int8 x")
KINDS = {"/a": ODOMETRY, "/b": ("std_msgs/msg/Empty", "ros2idl", "module x {};")}


def mcap(folder: Path, parts: Parts) -> Path:
    path = folder / "a.mcap"
    path.write_bytes(write(MESSAGES, parts, ["/c"], KINDS))
    return path


@pytest.mark.parametrize("chunks", [None, "", "zstd"])
def test_an_mcap_file_names_types_and_definitions_whatever_its_optional_parts(
    tmp_path: Path, chunks: str | None
) -> None:
    for parts in islice(every_combination(chunks), 0, None, 7):
        found = read_types(mcap(tmp_path, parts))
        if parts.padded:  # channels of padded files have no schema
            assert found == dict.fromkeys(("/a", "/b", "/c"), RecordedType("", "cdr"))
        else:
            expected = {topic: RecordedType(name, "cdr", text, kind) for topic, (name, kind, text) in KINDS.items()}
            assert found == {**expected, "/c": RecordedType("kind", "cdr")}, parts


def test_a_topic_with_messages_of_two_types_has_none(tmp_path: Path) -> None:
    path = tmp_path / "bag.db3"
    write_database(path, MESSAGES)
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO topics(id, name, type, serialization_format) VALUES (9, '/a', 'x/msg/Y', 'cdr')")
    assert list(read_types(path)) == ["/b"]


@pytest.mark.parametrize("version", [1, 2, 4])
def test_a_database_names_types_and_in_newer_distributions_their_definitions(tmp_path: Path, version: int) -> None:
    path = tmp_path / "bag.db3"
    write_database(path, MESSAGES, version)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE topics SET type = 'nav_msgs/msg/Odometry'")
        if version == 4:
            columns = "id INTEGER PRIMARY KEY, topic_type TEXT, encoding TEXT, encoded_message_definition TEXT"
            database.execute(f"CREATE TABLE message_definitions({columns})")
            database.execute("INSERT INTO message_definitions VALUES (1, ?, ?, ?)", ODOMETRY)
    more = ("int8 x", "ros2msg") if version == 4 else ()
    assert read_types(path)["/a"] == RecordedType("nav_msgs/msg/Odometry", "cdr", *more)


def test_the_messages_of_a_ros_1_bag_are_encoded_otherwise(tmp_path: Path) -> None:
    path = write_ros1(tmp_path / "old.bag", {"/a": [(START_NS, b"x")]})
    assert read_types(path)["/a"].encoding == "ros1"
