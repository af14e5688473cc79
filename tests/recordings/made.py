"""Create MCAP files, ROS 1 bags and ROS 2 bags."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mcap.writer import IndexType, Writer
from rosbags import rosbag1, rosbag2

from .mcap_bytes import Parts, Sent, write

Messages = Iterable[tuple[int, bytes]]
START_NS = 1_700_000_000_000_000_000
ROS1 = {"msgdef": "string data\n", "md5sum": "992ce8a1687cec8c8bd883ec73ca41d1"}
ROS2 = {"msgdef": "string data\n", "rihs01": "RIHS01_" + "0" * 64}


def payload(number: int, size: int) -> bytes:
    return bytes((number * 31 + place) % 256 for place in range(size))


def write_mcap(path: Path, topics: dict[str, Messages], published: bool = True, indexed: bool = True) -> Path:
    """Write an MCAP file. Without `published`, messages have only log times."""
    with path.open("wb") as file:
        index = {} if indexed else {"index_types": IndexType.NONE, "use_chunking": False}
        writer = Writer(file, **index)
        writer.start()
        schema = writer.register_schema("any", "", b"")
        for topic, messages in topics.items():
            channel = writer.register_channel(topic, "cdr", schema)
            for time_ns, data in messages:
                writer.add_message(channel, time_ns, data, time_ns if published else 0)
        writer.finish()
    return path


def write_in_order(path: Path, messages: Iterable[Sent]) -> Path:
    path.write_bytes(write(messages, Parts()))
    return path


def write_ros1(path: Path, topics: dict[str, Messages], compression: str = "") -> Path:
    writer = rosbag1.Writer(path)
    if compression:
        writer.set_compression(rosbag1.Writer.CompressionFormat[compression])
    return _write_bag(writer, path, topics, ROS1)


def write_ros2(path: Path, topics: dict[str, Messages], storage: str = "SQLITE3") -> Path:
    writer = rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin[storage])
    return _write_bag(writer, path, topics, ROS2)


def _write_bag(writer: Any, path: Path, topics: dict[str, Messages], kind: dict[str, str]) -> Path:
    with writer:
        for topic, messages in topics.items():
            connection = writer.add_connection(topic, "std_msgs/msg/String", **kind)
            for time_ns, data in messages:
                writer.write(connection, time_ns, data)
    return path
