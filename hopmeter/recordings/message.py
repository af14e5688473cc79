"""What all kinds of recordings have in common: messages, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol


class Message(NamedTuple):
    """A recorded message: when its recorder stored it, its bytes as they are in the recording, and its topic."""

    time_ns: int
    data: bytes
    topic: str


class RecordedType(NamedTuple):
    """What a recording says about the type of a topic's messages."""

    name: str
    """The name of the type: `nav_msgs/msg/Odometry`."""
    encoding: str
    """How messages are encoded, such as `cdr`, or `ros1`."""
    definition: str = ""
    """The definition of the type, and of all types in it; empty if the recording has none."""
    format: str = ""
    """The format of the definition, such as `ros2msg`."""


class Storage(Protocol):
    """An open recording."""

    @property
    def notes(self) -> Sequence[str]:
        """Return what a user should know about the recording, as far as it was read."""

    def topics(self) -> Iterator[str]:
        """Yield the topics, some repeatedly."""

    def types(self) -> Iterator[tuple[str, RecordedType]]:
        """Yield topics with the types of their messages, some repeatedly."""

    def messages(self, wanted: set[str]) -> Iterator[Message]:
        """Yield the messages of topics as they were recorded; the caller may remove topics from `wanted`."""
