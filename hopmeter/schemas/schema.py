"""Finds the schema of a payload: the file that the payload names, and all files that the schema imports."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.schemas.compilers import has_compiler
from hopmeter.schemas.imports import Imports, find_imports
from hopmeter.schemas.payload import ROS2, SUFFIXES, VALUE_SUFFIXES, MessagePayload, candidates, parse_message
from hopmeter.schemas.recorded import recorded_imports
from hopmeter.schemas.ros2 import files as ros2
from hopmeter.system.input_files import open_regular, read_text


@dataclass(frozen=True)
class Schema:
    """A schema message that one particular codec encodes."""

    codec: str
    type: str
    imports: Imports
    values: Path | int
    """The file with the message's values, or the length of the message's lists if hopmeter chooses the values."""
    include: tuple[Path, ...] = ()
    """The import directories that the user named."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the schema file and all files that it imports."""
        return tuple(self.imports.files.values())

    @property
    def file(self) -> Path:
        """Return the schema file."""
        return self.files[0]

    @property
    def name(self) -> str:
        """Return the name by which other files import the schema."""
        return next(iter(self.imports.files))

    @property
    def content_id(self) -> str:
        """Return a hash of the schema's content and of the message's values."""
        digest = blake2b(f"{self.codec} {self.type}".encode(), digest_size=8)
        for name, file in self.imports.files.items():
            digest.update(f"\n{name}\n".encode() + _content(file))
        digest.update(_content(self.values) if isinstance(self.values, Path) else str(self.values).encode())
        return digest.hexdigest()


def find_schema(text: str, codec: str) -> Schema:
    """Return the schema that a codec uses for a payload. Raises UsageError if the codec has no schema for the
    payload."""
    payload = parse_message(text)
    file = schema_file(payload, codec)
    _check_text(file)
    find = find_imports if has_compiler(codec) else recorded_imports
    imports = find(file, codec, payload.include)
    name = ros2.type_in(imports.files) if codec == ROS2 else payload.type
    return Schema(codec, name, imports, values_of(payload, codec), payload.include)


def schema_file(payload: MessagePayload, codec: str) -> Path:
    """Return the schema file that a codec uses for a payload. Raises UsageError if the codec does not support the
    file."""
    file = candidates(payload).get(codec)
    if file is None:
        what = f"{codec} does not read {payload.file.name}; its schemas end with {SUFFIXES[codec]}"
        raise UsageError("E-SCHEMA", what, f"choose codec {', '.join(candidates(payload))}")
    return file


def values_of(payload: MessagePayload, codec: str) -> Path | int:
    """Return the values that a codec encodes for a payload's message. If the path of the values file has no suffix,
    `values_of` adds the codec's suffix."""
    values = payload.values
    if isinstance(values, Path) and not values.suffix:
        return values.with_name(values.name + VALUE_SUFFIXES[codec])
    return values


def _check_text(file: Path) -> None:
    try:
        read_text(file)
    except OSError as cause:
        raise UsageError("E-FILE-UNREADABLE", f"{file} cannot be read: {cause.strerror}", "check the path") from cause
    except ValueError as cause:
        raise UsageError("E-SCHEMA", f"{file} is not a schema: it is not UTF-8") from cause


def _content(file: Path) -> bytes:
    try:
        with open_regular(file) as opened:
            return opened.read()
    except OSError as cause:
        raise UsageError("E-FILE-UNREADABLE", f"{file} cannot be read: {cause.strerror}", "check the path") from cause
