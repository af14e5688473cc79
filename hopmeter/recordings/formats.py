"""Read the messages of a topic: MCAP files with the library mcap, ROS bags with the library rosbags."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hopmeter.recordings.source import RecordingError, RecordingSource
from hopmeter.system.input_files import open_regular

KINDS = "name an MCAP file (.mcap), a ROS 1 bag (.bag), or the folder of a ROS 2 bag with its metadata.yaml"


class Message(NamedTuple):
    """A recorded message: when it was published, or else logged, and its bytes as they are in the recording."""

    time_ns: int
    data: bytes


def read_messages(source: RecordingSource) -> Iterator[Message]:
    """Yield the messages of a topic in the order of the recording. Raises RecordingError."""
    with _translate_errors(source.path):
        yield from _mcap_messages(source) if source.path.suffix == ".mcap" else _bag_messages(source)


def read_topics(path: Path) -> list[str]:
    """Return the topics of a recording. Raises RecordingError."""
    with _translate_errors(path):
        if path.suffix == ".mcap":
            return _mcap_topics(path)
        with _open_bag(path) as bag:
            return sorted({connection.topic for connection in bag.connections})


def check_topic(source: RecordingSource) -> None:
    """Raise RecordingError if a recording cannot be read or lacks the topic."""
    topics = read_topics(source.path)
    if source.topic not in topics:
        known = ", ".join(topics) or "none"
        raise RecordingError("E-NO-TOPIC", f"{source.path} has no topic {source.topic}", f"its topics are: {known}")


def _mcap_messages(source: RecordingSource) -> Iterator[Message]:
    reader = _library("mcap.reader", source.path)
    with open_regular(source.path) as file:
        opened = reader.make_reader(file, validate_crcs=True)
        summary = opened.get_summary()
        # Without an index, the library would read the whole file into memory in order to sort it.
        is_indexed = summary is not None and bool(summary.chunk_indexes)
        for _, _, message in opened.iter_messages(topics=[source.topic], log_time_order=is_indexed):
            yield Message(message.publish_time or message.log_time, bytes(message.data))


def _mcap_topics(path: Path) -> list[str]:
    reader = _library("mcap.reader", path)
    with open_regular(path) as file:
        opened = reader.make_reader(file)
        summary = opened.get_summary()
        if summary is not None:
            return sorted({channel.topic for channel in summary.channels.values()})
        return sorted({channel.topic for _, channel, _ in opened.iter_messages()})


def _bag_messages(source: RecordingSource) -> Iterator[Message]:
    with _open_bag(source.path) as bag:
        wanted = [connection for connection in bag.connections if connection.topic == source.topic]
        if not wanted:
            return  # without connections the library would read all topics
        with closing(bag.messages(connections=wanted)) as messages:
            for _, time_ns, data in messages:
                yield Message(time_ns, bytes(data))


@contextmanager
def _open_bag(path: Path) -> Iterator[Any]:
    """Open a ROS bag for its raw messages: the definitions of their types do not matter."""
    if path.suffix == ".bag":
        module = "rosbags.rosbag1"
        open_regular(path).close()
    elif (path / "metadata.yaml").is_file():
        module = "rosbags.rosbag2"
    else:
        raise _kind_error(path)
    with _library(module, path).Reader(path) as bag:
        yield bag


def _kind_error(path: Path) -> RecordingError:
    if path.exists():
        return RecordingError("E-RECORDING", f"{path} is no recording that hopmeter reads", KINDS)
    return RecordingError("E-FILE-UNREADABLE", f"{path} cannot be read: no such file", KINDS)


def _library(module: str, path: Path) -> Any:
    """Import the library that reads a recording. Raises RecordingError with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        name = module.partition(".")[0]
        what = f"{path} is read with the Python package {name}, which is not installed"
        raise RecordingError("E-READER-MISSING", what, f"pip install {name}") from cause


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Turn every error of the libraries into a RecordingError: a damaged file may raise any of many."""
    try:
        yield
    except RecordingError:
        raise
    except Exception as cause:
        if isinstance(cause, OSError) and cause.filename:  # another error comes from reading beyond the end
            raise RecordingError("E-FILE-UNREADABLE", f"{path} cannot be read: {cause.strerror}", KINDS) from cause
        said = " ".join(f"{type(cause).__name__}: {cause}".split())[:200].removesuffix(": ")
        what = f"{path} is damaged or cut off ({said})"
        raise RecordingError(
            "E-RECORDING", what, "restore the file, or repair it, such as with `mcap recover`"
        ) from cause
