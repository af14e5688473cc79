"""Write ROS 2 bags of every rosbag2 version: databases and metadata."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from .mcap_bytes import Sent, zstd

QOS_FORMS: dict[int, Any] = {
    4: "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 2\n  deadline:\n    sec: 9223372036",
    8: "- history: 1\n  depth: 10\n  unheard_of: [1]",
    9: [{"history": "keep_last", "depth": 10, "reliability": "best_available"}],
}
COLUMNS = {
    1: "id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT",
    2: "id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT, offered_qos_profiles TEXT",
    4: "id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT, offered_qos_profiles TEXT, "
    "type_description_hash TEXT",
}


def write_database(
    path: Path, messages: Sequence[Sent], version: int = 4, encoding: str = "cdr", packed: bool = False
) -> Path:
    """Write a database with the tables of a version; `packed` compresses each message."""
    topics = {topic: number for number, topic in enumerate(dict.fromkeys(each.topic for each in messages), 1)}
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE topics({COLUMNS[version]})")
        database.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)"
        )
        if version == 4:
            database.execute("CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT)")
            database.execute("INSERT INTO schema VALUES (4, 'jazzy')")
        for topic, number in topics.items():
            row = [number, topic, "any/msg/Any", encoding, "no list: [", "RIHS01_0"][: {1: 4, 2: 5, 4: 6}[version]]
            database.execute(f"INSERT INTO topics VALUES ({','.join('?' * len(row))})", row)
        for each in messages:
            data = zstd.compress(each.data) if packed else each.data
            row = [topics[each.topic], each.time_ns, data]
            database.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", row)
    database.close()
    return path


def write_metadata(folder: Path, files: Sequence[str], version: int, **more: Any) -> None:
    """Write metadata.yaml in the format of a rosbag2 version; `more` overrides or adds keys."""
    topic: dict[str, Any] = {"name": "/other", "type": "any/msg/Other", "serialization_format": "cdr"}
    if version >= 4:
        topic["offered_qos_profiles"] = QOS_FORMS[max(known for known in QOS_FORMS if known <= version)]
    if version >= 7:
        topic["type_description_hash"] = "RIHS01_f"
    found: dict[str, Any] = {
        "version": version,
        "storage_identifier": "sqlite3",
        "relative_file_paths": list(files),
        "duration": {"nanoseconds": 1},
        "starting_time": {"nanoseconds_since_epoch": 1},
        "message_count": 3,
        "topics_with_message_count": [{"topic_metadata": topic, "message_count": 3}],
    }
    if version >= 3:
        found |= {"compression_format": "", "compression_mode": ""}
    if version >= 5:
        found["files"] = [{"path": files[0], "starting_time": {"nanoseconds_since_epoch": 1}}]
    found |= {"custom_data": None} if version >= 6 else {}
    found |= {"ros_distro": "rolling"} if version >= 8 else {}
    (folder / "metadata.yaml").write_text(yaml.safe_dump({"rosbag2_bagfile_information": found | more}))
