"""Parses `drive.mcap:/lidar/points` into a recording and a topic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hopmeter.errors import RefusedValueError, UsageError

FORM = "write FILE:TOPIC, such as drive.mcap:/lidar/points"


class RecordingError(UsageError):
    """Raised if a recording cannot be replayed. The error states why the recording cannot be replayed, and what the
    user can do."""


@dataclass(frozen=True)
class RecordingSource:
    """A topic of a recording: the absolute path of a file or directory, and the topic's name."""

    path: Path
    topic: str

    @property
    def label(self) -> str:
        """Return a short name without directories, such as `drive.mcap:/lidar/points`."""
        return f"{self.path.name}:{self.topic}"

    @property
    def state(self) -> tuple[int, ...]:
        """Return the modification times and sizes of the recording's files; a change to the recording alters at least
        one of them.

        Raises OSError if the recording cannot be accessed.
        """
        files = sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]
        return tuple(number for file in files for number in (file.stat().st_mtime_ns, file.stat().st_size))


def parse_recording(text: str) -> RecordingSource:
    """Split a text into the path of a recording and a topic. The topic is the text after the last colon.

    If the text names no topic, raises a RefusedValueError that states the expected syntax.
    """
    path, _, topic = text.rpartition(":")
    if not path or not topic:
        raise RefusedValueError("E-VALUE-FORM", f'"{text}" names no topic of a recording; {FORM}')
    return RecordingSource(Path(path).expanduser().absolute(), topic)
