"""Opens recordings of all supported formats. The first bytes of a file identify its format."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from hopmeter.recordings import mcap_file, ros1_bag
from hopmeter.recordings.mcap_file import McapFile
from hopmeter.recordings.message import Message, RecordedType, Storage
from hopmeter.recordings.ros1_bag import Ros1Bag
from hopmeter.recordings.ros2_database import Ros2Database
from hopmeter.recordings.ros2_folder import list_storages
from hopmeter.recordings.source import RecordingError, RecordingSource
from hopmeter.recordings.streams import (
    ZSTD_MAGIC,
    DamageError,
    FileWindow,
    MissingReaderError,
    UnknownKindError,
    decompress,
)
from hopmeter.system.input_files import open_regular
from hopmeter.system.scratch_dir import ScratchDir, new_run_id

KINDS = "name an MCAP file, a ROS 1 bag, the database (.db3) of a ROS 2 bag, or the folder of a ROS 2 bag"
RESERVE_BYTES = 1 << 28
"""The minimum free disk space in bytes while a compressed file is decompressed."""
OTHER_KINDS = {
    b"version https://git-lfs": ("a pointer of Git LFS instead of the recording", "get the file with `git lfs pull`"),
    b"/annex/objects/": ("a pointer of git-annex instead of the recording", "get the file with `git annex get`"),
    b"\x1f\x8b": ("a file compressed with gzip", "decompress it with `gunzip`, and name the result"),
    b"BZh": ("a file compressed with bzip2", "decompress it with `bunzip2`, and name the result"),
    b"\xfd7zXZ": ("a file compressed with xz", "decompress it with `unxz`, and name the result"),
    b"PK\x03\x04": ("a ZIP archive", "extract it, and name the recording in it"),
    b"\x04\x22\x4d\x18": ("a file compressed with lz4", "decompress it with `unlz4`, and name the result"),
}


def read_messages(path: Path, wanted: set[str], notes: list[str] | None = None) -> Generator[Message, None, None]:
    """Yield the recorded messages of the topics in `wanted`. The caller may remove topics from `wanted` during the
    iteration.

    At the end of the iteration, remarks for the user are appended to `notes`. Raises RecordingError if the recording
    cannot be read.
    """
    with open_recording(path) as storage:
        yield from storage.messages(wanted)
        if notes is not None:
            notes += storage.notes


def read_topics(path: Path) -> list[str]:
    """Return the sorted topics of a recording. Raises RecordingError if the recording cannot be read."""
    with open_recording(path) as storage:
        return sorted(set(storage.topics()))


def read_types(path: Path) -> dict[str, RecordedType]:
    """Return the message type of each topic. Topics whose messages have several types are omitted.

    Raises RecordingError if the recording cannot be read.
    """
    found: dict[str, set[RecordedType]] = {}
    with open_recording(path) as storage:
        for topic, each in storage.types():
            found.setdefault(topic, set()).add(each)
    return {topic: next(iter(kinds)) for topic, kinds in found.items() if len(kinds) == 1}


def check_topic(source: RecordingSource) -> None:
    """Raise RecordingError if a recording cannot be read or does not contain the topic."""
    topics: set[str] = set()
    with open_recording(source.path) as storage:
        for topic in storage.topics():
            if topic == source.topic:
                return
            topics.add(topic)
    known = ", ".join(sorted(topics)) or "none"
    raise RecordingError("E-NO-TOPIC", f"{source.path} has no topic {source.topic}", f"its topics are: {known}")


@contextmanager
def open_recording(path: Path) -> Iterator[Storage]:
    """Open a recording, which is a file or a ROS 2 bag directory.

    Errors inside the `with` block are converted to RecordingError.
    """
    with _translate_errors(path):
        if path.is_dir():
            folder = list_storages(path)
            yield _Parts(folder.files, folder.notes)
        else:
            with _open_file(path) as storage:
                yield storage


class _Parts:
    """Reads the files of a split recording, one after another."""

    def __init__(self, files: Sequence[Path], notes: Sequence[str]) -> None:
        self._files, self.notes = files, [*notes]

    def topics(self) -> Iterator[str]:
        for file in self._files:
            with _open_part(file) as storage:
                yield from storage.topics()

    def types(self) -> Iterator[tuple[str, RecordedType]]:
        for file in self._files:
            with _open_part(file) as storage:
                yield from storage.types()

    def messages(self, wanted: set[str]) -> Iterator[Message]:
        for file in self._files:
            if not wanted:
                return
            with _open_part(file) as storage:
                yield from storage.messages(wanted)
                self.notes += [f"{file.name}: {note}" for note in storage.notes]


@contextmanager
def _open_part(path: Path) -> Iterator[Storage]:
    with _translate_errors(path), _open_file(path) as storage:
        yield storage


@contextmanager
def _open_file(path: Path) -> Iterator[Storage]:
    """Open a file in the format that its first bytes identify. Raises RecordingError, DamageError and other errors if
    the file cannot be read."""
    with ExitStack() as stack:
        file = stack.enter_context(open_regular(path))
        begin = _peek(file)
        if begin.startswith(ZSTD_MAGIC):
            path = stack.enter_context(_decompress_file(file, path))
            file = stack.enter_context(open_regular(path))
            begin = _peek(file)
        if begin.startswith(b"SQLite format 3\0"):
            yield stack.enter_context(closing(Ros2Database(path)))
        elif begin.startswith(mcap_file.MAGIC[:5]):
            yield McapFile(file)
        elif begin.startswith((ros1_bag.MAGIC[:8], b"#ROSRECORD", b"#ROSLOG")):
            yield Ros1Bag(file)
        else:
            raise _kind_error(path, begin)


def _peek(file: BinaryIO) -> bytes:
    begin = file.read(200)
    file.seek(0)
    return begin


@contextmanager
def _decompress_file(file: BinaryIO, path: Path) -> Iterator[Path]:
    """Decompress a file to the temporary directory. The decompressed copy is deleted at the end of the `with` block.

    Raises RecordingError if too little disk space is left.
    """
    into = Path(tempfile.gettempdir()) / f"hopmeter-{new_run_id()}"
    content = decompress(FileWindow(file, 0, path.stat().st_size), "zstd")
    with ScratchDir() as ground:
        ground.keep((), [str(into)])  # the next command removes the file if this process is killed
        try:
            with into.open("xb") as whole:
                while block := content.read(1 << 20):
                    _check_disk(path, into.parent)
                    whole.write(block)
            yield into
        finally:
            into.unlink(missing_ok=True)


def _check_disk(path: Path, folder: Path) -> None:
    if shutil.disk_usage(folder).free < RESERVE_BYTES:
        what = f"{path.name}: {folder} has too little space to decompress it"
        raise RecordingError(
            "E-RECORDING-ROOM", what, "free space there, set TMPDIR to another folder, or use `unzstd`"
        )


def _kind_error(path: Path, begin: bytes) -> RecordingError:
    for magic, (kind, remedy) in OTHER_KINDS.items():
        if begin.startswith(magic) or (magic.startswith(b"/") and magic in begin):
            return RecordingError("E-RECORDING", f"{path} is {kind}", remedy)
    if not begin:
        return RecordingError("E-RECORDING", f"{path} is empty", "restore the file, or record it again")
    return RecordingError("E-RECORDING", f"{path} is not a recording that hopmeter can read", KINDS)


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Convert every read error to a RecordingError. A corrupted file may cause many kinds of errors."""
    try:
        yield
    except RecordingError:
        raise
    except Exception as cause:
        raise _translate(cause, path) from cause


def _translate(cause: Exception, path: Path) -> RecordingError:
    if isinstance(cause, MissingReaderError):
        what = f"{path} is read with the Python package {cause}, which is not installed"
        return RecordingError("E-READER-MISSING", what, f"pip install {cause}")
    if isinstance(cause, UnknownKindError):
        what = f"hopmeter cannot read this kind of recording yet: {path} has {cause}"
        return RecordingError(
            "E-RECORDING-KIND", what, "convert the recording to MCAP with zstd, or without compression"
        )
    if isinstance(cause, OSError) and cause.filename:  # an OSError without a file name comes from decompression
        return RecordingError("E-FILE-UNREADABLE", f"{path} cannot be read: {cause.strerror}", KINDS)
    name = "" if isinstance(cause, DamageError) else f"{type(cause).__name__}: "
    said = " ".join(f"{name}{cause}".split())[:200].removesuffix(": ")
    remedy = "restore the file, or repair it, such as with `mcap recover`, `rosbag reindex` or `sqlite3 FILE .recover`"
    return RecordingError("E-RECORDING", f"{path} is damaged or cut off ({said})", remedy)
