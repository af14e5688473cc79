"""Find the files of a schema: the file that a payload names, and the files that it imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.schemas.payload import SUFFIXES, VALUE_SUFFIXES, parse_message
from hopmeter.system.input_files import open_regular, read_text

IMPORTS = {
    "protobuf": re.compile(r'^[ \t]*import[ \t]+(?:public[ \t]+|weak[ \t]+)?"([^"\n]+)"', re.MULTILINE),
    "flatbuffers": re.compile(r'^[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE),
}
"""How a schema imports another file, by codec."""
WELL_KNOWN = "google/protobuf/"
"""The folder of the files that the compiler of Protocol Buffers has itself."""


@dataclass(frozen=True)
class Schema:
    """A message of a schema for one codec."""

    codec: str
    type: str
    file: Path
    root: Path
    """The folder from which imports are named."""
    imported: tuple[Path, ...]
    values: Path | int
    """The file with the values of the message, or the length of its lists if hopmeter chooses the values."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the schema file and all files that it imports."""
        return (self.file, *self.imported)

    @property
    def content_id(self) -> str:
        """Return a text that changes with the content of the schema and of the values."""
        digest = blake2b(f"{self.codec} {self.type}".encode(), digest_size=8)
        for file in self.files:
            digest.update(f"\n{file.relative_to(self.root)}\n".encode() + _content(file))
        digest.update(_content(self.values) if isinstance(self.values, Path) else str(self.values).encode())
        return digest.hexdigest()


def find_schema(text: str, codec: str) -> Schema:
    """Return the schema of a payload for a codec. Raises UsageError if the codec has no schema of this name."""
    payload = parse_message(text)
    file, values = payload.file, payload.values
    if not file.suffix:
        file = file.with_name(file.name + SUFFIXES[codec])
    if file.suffix != SUFFIXES[codec]:
        raise UsageError("E-SCHEMA", f"{codec} does not read {file.name}; its schemas end with {SUFFIXES[codec]}")
    if isinstance(values, Path) and not values.suffix:
        values = values.with_name(values.name + VALUE_SUFFIXES[codec])
    root = _root(file, codec)
    return Schema(codec, payload.type, file, root, tuple(_find_imports(file, root, codec)), values)


def _root(file: Path, codec: str) -> Path:
    """Return the nearest folder above a schema in which all files exist that it imports."""
    names = _imports(file, codec)
    for folder in file.parents:
        if all((folder / name).is_file() for name in names):
            return folder
    missing = next(name for name in names if not (file.parent / name).is_file())
    raise UsageError(
        "E-SCHEMA",
        f'{file.name} imports "{missing}", which is in no folder above it',
        "name imported files from a folder that contains them and the schema",
    )


def _find_imports(file: Path, root: Path, codec: str) -> Iterator[Path]:
    """Yield all files that a schema imports, also those that its imports import."""
    found, rest = {file}, [file]
    while rest:
        one = rest.pop()
        for name in _imports(one, codec):
            path = root / name
            if not path.is_file():
                raise UsageError("E-SCHEMA", f'{one.name} imports "{name}", which is not in {root}')
            if path not in found:
                found.add(path)
                rest.append(path)
                yield path


def _imports(file: Path, codec: str) -> list[str]:
    try:
        text = read_text(file)
    except OSError as cause:
        raise UsageError("E-FILE-UNREADABLE", f"{file} cannot be read: {cause.strerror}", "check the path") from cause
    except ValueError as cause:
        raise UsageError("E-SCHEMA", f"{file} is no schema: it is not UTF-8") from cause
    return [name for name in IMPORTS[codec].findall(text) if not name.startswith(WELL_KNOWN)]


def _content(file: Path) -> bytes:
    try:
        with open_regular(file) as opened:
            return opened.read()
    except OSError as cause:
        raise UsageError("E-FILE-UNREADABLE", f"{file} cannot be read: {cause.strerror}", "check the path") from cause
