"""Parse `message:NAME` and `message:FILE:TYPE[:VALUES][:include=DIR]…`, which name a message of a schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopmeter.errors import RefusedValueError

KIND = "message:"
SUFFIXES = {"protobuf": ".proto", "flatbuffers": ".fbs"}
"""The suffix of a schema file, by codec."""
VALUE_SUFFIXES = {"protobuf": ".txtpb", "flatbuffers": ".json"}
"""The suffix of a file with the values of a message, by codec: the text format of Protocol Buffers, or JSON."""
CODECS = tuple(SUFFIXES)
FOLDER = Path(__file__).parent / "shipped"
LENGTH = 3
"""The default length of lists of numbers and of bytes."""
MOST_LENGTH = 1 << 24
SHIPPED = {
    "robot-state": ("robot-state", "hopmeter_example.RobotState", 32),
    "camera-image": ("camera-image", "hopmeter_example.CameraImage", 640 * 480 * 3),
}
"""The messages that hopmeter ships: the schema file without its suffix, the type, and the length of lists."""
TYPE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
INCLUDE = "include="
FORM = re.compile(
    rf"message:(?P<file>[^:]+):(?P<type>{TYPE})(:(?!{INCLUDE})(?P<values>[^:]+))?(?P<include>(:{INCLUDE}[^:]+)*)",
    re.ASCII,
)
SYNTAX = "message:FILE:TYPE or message:FILE:TYPE:VALUES, such as message:robot.proto:robot.State"


@dataclass(frozen=True)
class MessagePayload:
    """A message of a schema, as a payload names it."""

    file: Path
    """The absolute path of the schema; without a suffix, each codec adds its own."""
    type: str
    """The full name of the message, with its packages."""
    values: Path | int
    """The file with the values of the message, or the length of its lists if hopmeter chooses the values."""
    include: tuple[Path, ...] = ()
    """The folders in which imported files are found, beside the folders above the schema."""


def is_message(text: str) -> bool:
    """Return whether a payload is a message of a schema."""
    return text.startswith(KIND)


def parse_message(text: str) -> MessagePayload:
    """Return the message that a payload names. Raises RefusedValueError if it names none."""
    if shipped := SHIPPED.get(text.removeprefix(KIND)):
        stem, name, length = shipped
        return MessagePayload(FOLDER / stem, name, length)
    found = FORM.fullmatch(text)
    if found is None:
        known = ", ".join(KIND + name for name in SHIPPED)
        raise RefusedValueError("E-VALUE-FORM", f'"{text}" is no message of a schema; write {SYNTAX}; or {known}')
    include = tuple(_whole(folder) for folder in filter(None, found["include"].split(f":{INCLUDE}")))
    payload = MessagePayload(_whole(found["file"]), found["type"], _values(found["values"]), include)
    _check_file(payload.file)
    if missing := next((folder for folder in include if not folder.is_dir()), None):
        raise RefusedValueError("E-FILE-UNREADABLE", f"there is no folder {missing} in which imports could be found")
    return payload


def add_folders(text: str, folders: Sequence[str | Path]) -> str:
    """Return a payload that also finds imported files in these folders; of another payload, the payload itself."""
    if not FORM.fullmatch(text):
        return text
    words = dict.fromkeys(f":{INCLUDE}{folder}" for folder in folders)
    return text + "".join(word for word in words if f"{word}:" not in f"{text}:")


def without_folders(text: str) -> str:
    """Return a payload without the folders in which imported files are found, which tell nobody what is sent."""
    return text.partition(f":{INCLUDE}")[0] if is_message(text) else text


def _values(text: str | None) -> Path | int:
    if text is None:
        return LENGTH
    if not text.isdecimal():
        return _whole(text)
    if int(text) > MOST_LENGTH:
        raise RefusedValueError("E-VALUE-RANGE", f"{text} values in each list are more than {MOST_LENGTH:,}")
    return int(text)


def _check_file(file: Path) -> None:
    if file.suffix and file.suffix not in SUFFIXES.values():
        known = " or ".join(SUFFIXES.values())
        raise RefusedValueError("E-VALUE-FORM", f"{file} is no schema; its name must end with {known}, or with neither")
    if not any(path.is_file() for path in candidates(file)):
        names = " nor ".join(str(path) for path in candidates(file))
        raise RefusedValueError("E-FILE-UNREADABLE", f"there is no schema {names}")


def candidates(file: Path) -> list[Path]:
    """Return the schema files that a path may mean: with a suffix itself, otherwise one for each codec."""
    return [file] if file.suffix else [file.with_name(file.name + suffix) for suffix in SUFFIXES.values()]


def _whole(text: str) -> Path:
    return Path(text).expanduser().absolute()
