"""The files of a message's schema while they travel to a host that builds its code.

Paths are relative to a folder that holds the schema and everything that it imports. So the name of the codec library,
which follows from paths and content, is the same on both hosts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopmeter.hosts import checks
from hopmeter.schemas import SHIPPED, find_schema, parse_message
from hopmeter.schemas.payload import KIND, TYPE

MOST_FILES = 1000
STEP = r"(?!\.{1,2}(?:/|$))[\w .+-]{1,200}"
RELATIVE = re.compile(rf"{STEP}(?:/{STEP}){{0,20}}")
"""A path that stays in its folder."""
TEXT = re.compile(rf"[^:]+:{TYPE}:[^:]+")
VALUES = "values"


@dataclass(frozen=True)
class SentMessage:
    """A message whose code hosts build."""

    text: str
    """What `hopmeter build --message` gets; its files are relative to the folder into which they are put."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """The files on this machine by their relative paths; none of a message that hopmeter ships."""

    def send(self, send: Callable[[Path], str]) -> dict[str, Any]:
        """Return it as a request carries it; `send` sends a file and returns its hash."""
        return {"text": self.text, "files": {name: send(path) for name, path in self.files.items()}}


def gather_files(payload: str, codecs: Sequence[str]) -> SentMessage:
    """Return a message with the files that these codecs read. Raises UsageError if one has no such schema."""
    if (name := payload.removeprefix(KIND)) in SHIPPED:
        return SentMessage(name)
    schemas = [find_schema(payload, codec) for codec in codecs]
    base = Path(os.path.commonpath([each.root for each in schemas]))
    files = {str(path.relative_to(base)): path for each in schemas for path in each.files}
    message = parse_message(payload)
    values = [each.values for each in schemas if isinstance(each.values, Path)]
    files |= {f"{VALUES}/{path.name}": path for path in values}
    last = f"{VALUES}/{message.values.name}" if isinstance(message.values, Path) else message.values
    return SentMessage(f"{message.file.relative_to(base)}:{message.type}:{last}", files)


def put_files(folder: Path, told: Mapping[str, Any], file: Callable[[str], Path]) -> str:
    """Put the files of a message into a folder, and return what `hopmeter build --message` gets; `file` returns a file
    that has arrived by its hash. Raises ValueError for anything that no coordinator sends."""
    text, files = checks.text(told, "text"), checks.texts(told, "files")
    if not files:
        return checks.word(told, "text", SHIPPED)
    if len(files) > MOST_FILES:
        raise ValueError("a schema has too many files")
    for name, content in files.items():
        path = folder / _relative(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file(checks.matching({"hash": content}, "hash", checks.HASH)).read_bytes())
    schema, kind, values = checks.matching({"text": text}, "text", TEXT).split(":")
    return f"{folder / _relative(schema)}:{kind}:{values if values.isdecimal() else folder / _relative(values)}"


def _relative(name: str) -> str:
    if not RELATIVE.fullmatch(name):
        raise ValueError("the path of a schema leaves its folder")
    return name
