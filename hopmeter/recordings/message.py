"""What all kinds of recordings have in common: messages, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol


class Message(NamedTuple):
    """A recorded message: when its recorder stored it, its bytes as they are in the recording, and its topic."""

    time_ns: int
    data: bytes
    topic: str


class Storage(Protocol):
    """An open recording."""

    @property
    def notes(self) -> Sequence[str]:
        """Return what a user should know about the recording, as far as it was read."""

    def topics(self) -> Iterator[str]:
        """Yield the topics, some repeatedly."""

    def messages(self, wanted: set[str]) -> Iterator[Message]:
        """Yield the messages of topics as they were recorded; the caller may remove topics from `wanted`."""
