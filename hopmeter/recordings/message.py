"""Defines recorded messages, and the interface for reading recordings of any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol


class Message(NamedTuple):
    """A recorded message: the topic, the bytes as recorded, and the time at which the recorder stored the message."""

    time_ns: int
    data: bytes
    topic: str


class RecordedType(NamedTuple):
    """The recorded information about the type of a topic's messages."""

    name: str
    """The type name, such as `nav_msgs/msg/Odometry`."""
    encoding: str
    """The encoding of the messages, such as `cdr` or `ros1`."""
    definition: str = ""
    """The definitions of the type and of all nested types. The text is empty if the recording contains no
    definitions."""
    format: str = ""
    """The format of the definition, such as `ros2msg`."""


class Storage(Protocol):
    """An open recording."""

    @property
    def notes(self) -> Sequence[str]:
        """Return remarks for the user about the part of the recording that was read."""

    def topics(self) -> Iterator[str]:
        """Yield the topics. A topic may be yielded more than once."""

    def types(self) -> Iterator[tuple[str, RecordedType]]:
        """Yield the topics with their message types. A topic may be yielded more than once."""

    def messages(self, wanted: set[str]) -> Iterator[Message]:
        """Yield the recorded messages of the topics in `wanted`.

        The caller may remove topics from `wanted` during the iteration.
        """
