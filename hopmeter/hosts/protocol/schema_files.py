"""The schema files of a message, sent to a host that builds the message's codec library.

Paths are relative to a directory that contains the schema and all its imports. The name of the codec library depends
only on the relative paths and the content of the files, so both hosts use the same name for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopmeter.hosts.protocol import value_checks
from hopmeter.schemas import SHIPPED, Schema, find_schema, parse_message
from hopmeter.schemas.payload import INCLUDE, KIND, TYPE
from hopmeter.schemas.ros2.standard import is_standard

MOST_FILES = 1000
STEP = r"(?!\.{1,2}(?:/|$))[\w .+-]{1,200}"
RELATIVE = re.compile(rf"{STEP}(?:/{STEP}){{0,20}}")
"""A relative path that cannot leave its directory."""
TEXT = re.compile(rf"[^:]+:{TYPE}:[^:]+(:{INCLUDE}[^:]+)*|[^:]+\.(msg|srv):[^:]+")
ROS2_FILE = re.compile(r"[^:]+\.(msg|srv)")
VALUES = "values"


@dataclass(frozen=True)
class SentMessage:
    """A message for which hosts build codec libraries."""

    text: str
    """The argument of `hopmeter build --message`. Paths in the argument are relative to the directory of the received
    files."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """The local files by relative path. The mapping is empty for a message that comes with hopmeter."""

    def send(self, send: Callable[[Path], str]) -> dict[str, Any]:
        """Convert the message to the format that a build request contains. `send` is a function that sends a file and
        returns the hash of the file."""
        return {"text": self.text, "files": {name: send(path) for name, path in self.files.items()}}


def gather_files(payload: str, codecs: Sequence[str]) -> SentMessage:
    """Return a message together with the schema files that the given codecs need. Raises UsageError if the message has
    no schema for a codec."""
    if (name := payload.removeprefix(KIND)) in SHIPPED:
        return SentMessage(name)
    message = parse_message(payload)
    schemas = [find_schema(payload, codec) for codec in codecs]
    if message.is_ros2:
        return _gather_ros2(schemas[0])
    paths = [path for each in schemas for path in each.files if not is_standard(path)]
    # Import directories without sent files are omitted, because they do not exist on the other host.
    folders = [folder for each in schemas for folder in each.imports.search if _is_above(folder, paths)]
    base = Path(os.path.commonpath([*folders, *(path.parent for path in paths)]))
    files = {str(path.relative_to(base)): path for path in paths}
    values = [each.values for each in schemas if isinstance(each.values, Path)]
    files |= {f"{VALUES}/{path.name}": path for path in values}
    last = f"{VALUES}/{message.values.name}" if isinstance(message.values, Path) else message.values
    text = f"{message.file.relative_to(base)}:{message.type}:{last}"
    include = (f":{INCLUDE}{folder.relative_to(base)}" for folder in dict.fromkeys(folders))
    return SentMessage("".join([text, *include]), files)


def _gather_ros2(schema: Schema) -> SentMessage:
    """Return a ROS 2 message. The ROS 2 packages of the message are sent as subdirectories of one directory."""
    if isinstance(schema.values, int):
        return SentMessage(f"{schema.name}:{schema.values}", schema.imports.files)
    values = f"{VALUES}/{schema.values.name}"
    return SentMessage(f"{schema.name}:{values}", {**schema.imports.files, values: schema.values})


def _is_above(folder: Path, paths: Sequence[Path]) -> bool:
    return any(folder in path.parents for path in paths)


def put_files(folder: Path, told: Mapping[str, Any], file: Callable[[str], Path]) -> str:
    """Write the schema files of a message to a directory, and return the argument for `hopmeter build --message`.

    The function `file` maps the hash of a received file to the file's path. The other host describes the message in
    `told`. Raises ValueError if `told` is malformed.
    """
    text, files = value_checks.text(told, "text"), value_checks.texts(told, "files")
    if not files:
        return value_checks.word(told, "text", SHIPPED)
    if len(files) > MOST_FILES:
        raise ValueError("a schema has too many files")
    for name, content in files.items():
        path = folder / _relative(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file(value_checks.matching({"hash": content}, "hash", value_checks.HASH)).read_bytes())
    schema, *words = value_checks.matching({"text": text}, "text", TEXT).split(":")
    kind = [] if ROS2_FILE.fullmatch(schema) else [words.pop(0)]
    values, *include = words
    last = values if values.isdecimal() else str(folder / _relative(values))
    put = ":".join([str(folder / _relative(schema)), *kind, last])
    return "".join([put, *(f":{INCLUDE}{_folder(folder, each.removeprefix(INCLUDE))}" for each in include)])


def _folder(folder: Path, name: str) -> Path:
    return folder if name == "." else folder / _relative(name)


def _relative(name: str) -> str:
    if not RELATIVE.fullmatch(name):
        raise ValueError("the path of a schema leaves its folder")
    return name
