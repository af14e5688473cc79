"""Reads the SQLite database of a ROS 2 bag with plain SQL queries, which work with the tables of every rosbag2
version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from hopmeter.recordings.message import Message, RecordedType
from hopmeter.recordings.streams import UnknownKindError, unpack_message

TABLES = {"messages", "topics"}
DEFINITIONS = "message_definitions"
"""The table with message definitions, which only newer ROS 2 distributions write."""


class Ros2Database:
    """An open SQLite database of a ROS 2 bag."""

    notes: Sequence[str] = ()

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(_address(path), uri=True)
        try:
            self._topics = self._read_topics()
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _read_topics(self) -> dict[int, tuple[str, str]]:
        """Return the name and serialization format of each topic, by topic id."""
        found = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not found >= TABLES:
            raise UnknownKindError("a database without the tables of a ROS 2 bag, `messages` and `topics`")
        rows = self._database.execute("SELECT id, name, serialization_format FROM topics")
        return {number: (name, encoding) for number, name, encoding in rows}

    def topics(self) -> Iterator[str]:
        """Yield the topics of the database. A topic may be yielded more than once."""
        yield from [topic for topic, _ in self._topics.values()]

    def types(self) -> Iterator[tuple[str, RecordedType]]:
        """Yield the topics of the database with their message types. A topic may be yielded more than once."""
        known = self._definitions()
        for name, kind, encoding in self._database.execute("SELECT name, type, serialization_format FROM topics"):
            yield name, RecordedType(kind or "", encoding or "", *known.get(kind, ()))

    def _definitions(self) -> dict[str, tuple[str, str]]:
        """Return the text and format of each message definition, by message type.

        Return an empty dict for a bag from an older ROS 2 distribution, which stores no definitions.
        """
        if not self._database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [DEFINITIONS]).fetchone():
            return {}
        rows = self._database.execute(f"SELECT topic_type, encoded_message_definition, encoding FROM {DEFINITIONS}")
        return {kind: (text or "", form or "") for kind, text, form in rows}

    def messages(self, wanted: set[str]) -> Iterator[Message]:
        """Yield the messages of the topics in `wanted`, in stored order.

        The caller may remove topics from `wanted` during the iteration.
        """
        after: int | None = None
        while numbers := [number for number, (topic, _) in self._topics.items() if topic in wanted]:
            many = len(wanted)
            for row, message in self._rows(numbers, after):
                after = row
                yield message
                if len(wanted) < many:
                    break  # the next query no longer returns the removed topics
            else:
                return

    def _rows(self, numbers: Sequence[int], after: int | None) -> Iterator[tuple[int, Message]]:
        places = ",".join("?" * len(numbers))
        query = f"SELECT rowid, topic_id, timestamp, CAST(data AS BLOB) FROM messages WHERE topic_id IN ({places})"
        query += "" if after is None else f" AND rowid > {after}"
        for row, number, time_ns, data in self._database.execute(query + " ORDER BY rowid", numbers):
            topic, encoding = self._topics[number]
            yield row, Message(int(time_ns or 0), unpack_message(data or b"", encoding), topic)


def _address(path: Path) -> str:
    """Return the URI that opens a database read-only.

    The database's write-ahead log or journal is also read, unless it is empty.
    """
    logs = [path.with_name(path.name + ending) for ending in ("-wal", "-journal")]
    whole = not any(log.exists() and log.stat().st_size for log in logs)
    return f"file:{quote(str(path))}?mode=ro{'&immutable=1' if whole else ''}"
