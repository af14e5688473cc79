"""Parses payloads that name a schema message: `message:NAME`, `message:FILE:TYPE[:VALUES][:include=DIR]…`, and for ROS
2 `message:PACKAGE/msg/TYPE[.msg]…`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.schemas.formats import FORMATS
from hopmeter.schemas.ros2 import files as ros2

KIND = "message:"
SUFFIXES = {codec: each.suffix for codec, each in FORMATS.items()}
"""The suffix of a schema file, by codec."""
VALUE_SUFFIXES = {codec: each.values for codec, each in FORMATS.items()}
"""The suffix of a file with a message's values, by codec: Protocol Buffers text format, JSON, or YAML."""
ROS2 = "cdr"
"""The codec of ROS 2 messages. The file names of ROS 2 definitions contain the type."""
FOLDER = Path(__file__).parent / "shipped"
ROS2_VALUES = "ros2"
"""The directory with values for messages that ROS 2 ships."""
LENGTH = 3
"""The default length of lists of numbers and of byte strings."""
MOST_LENGTH = 1 << 24
SHIPPED = {
    "robot-state": ("robot-state", "hopmeter_example.RobotState", 32),
    "camera-image": ("camera-image", "hopmeter_example.CameraImage", 640 * 480 * 3),
}
"""The messages that hopmeter ships: the schema file without its suffix, the type, and the length of its lists."""
TYPE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
INCLUDE = "include="
FORM = re.compile(
    rf"message:(?P<file>[^:]+):(?P<type>{TYPE})(:(?!{INCLUDE})(?P<values>[^:]+))?(?P<include>(:{INCLUDE}[^:]+)*)",
    re.ASCII,
)
ROS2_FORM = re.compile(
    rf"message:(?P<file>[^:]+\.(?:msg|srv|action|idl)|{ros2.NAME.pattern})"
    rf"(:(?!{INCLUDE})(?P<values>[^:]+))?(?P<include>(:{INCLUDE}[^:]+)*)",
    re.ASCII,
)
SYNTAX = (
    "message:FILE:TYPE or message:FILE:TYPE:VALUES, such as message:robot.proto:robot.State; "
    "for ROS 2 message:PACKAGE/msg/TYPE.msg or message:nav_msgs/msg/Odometry"
)


@dataclass(frozen=True)
class MessagePayload:
    """The parts of a payload that names a schema message."""

    file: Path
    """The absolute path of the schema. If the path has no suffix, each codec adds its own."""
    type: str
    """The message's full name with its package, such as `robot.State`, or `nav_msgs/msg/Odometry` for ROS 2."""
    values: Path | int
    """The file with the message's values, or the length of its lists if hopmeter chooses the values."""
    include: tuple[Path, ...] = ()
    """Import directories, in addition to the directories above the schema."""

    @property
    def is_ros2(self) -> bool:
        """Return whether the file is a ROS 2 definition, which only the codec cdr can encode."""
        return ros2.is_definition(self.file)


def is_message(text: str) -> bool:
    """Return whether a payload names a schema message."""
    return text.startswith(KIND)


def is_ros2(text: str) -> bool:
    """Return whether a payload names a ROS 2 message, either by its file or by its name."""
    return ROS2_FORM.fullmatch(text) is not None


def is_shipped_by_ros2(text: str) -> bool:
    """Return whether a payload is a ROS 2 message that is given by name, without a file."""
    found = ROS2_FORM.fullmatch(text)
    return found is not None and found["package"] is not None


def parse_message(text: str) -> MessagePayload:
    """Return the message that a payload names. Raises RefusedValueError if the payload does not name a message."""
    if shipped := SHIPPED.get(text.removeprefix(KIND)):
        stem, name, length = shipped
        return MessagePayload(FOLDER / stem, name, length)
    if named := ROS2_FORM.fullmatch(text):
        return _parse_ros2(named)
    found = FORM.fullmatch(text)
    if found is None:
        known = ", ".join(KIND + name for name in SHIPPED)
        raise RefusedValueError("E-VALUE-FORM", f'"{text}" is not a message of a schema; write {SYNTAX}; or {known}')
    payload = MessagePayload(_whole(found["file"]), found["type"], _values(found["values"]), _include(found["include"]))
    _check_file(payload)
    return payload


def _parse_ros2(found: re.Match[str]) -> MessagePayload:
    """Return the ROS 2 message whose file or name is matched by a regular expression.

    A message that is given by name may be defined in the user's directories or shipped with ROS 2.
    """
    include, named = _include(found["include"]), found["file"]
    try:
        is_file = found["package"] is None
        file = _whole(named) if is_file else ros2.find_named(named, include)
        _check_ros2_file(file)
        include += ros2.folders_above(file)
        file = ros2.read_as_definition(file)
        name = ros2.message_name(file)
    except UsageError as cause:
        raise RefusedValueError(cause.code, f"{cause.what}; {cause.remedy}") from cause
    values = _values(found["values"]) if found["values"] or is_file else _shipped_values(name)
    return MessagePayload(file, name, values, include)


def _check_ros2_file(file: Path) -> None:
    if not (ros2.is_definition(file) or ros2.is_idl(file)):
        what = (
            f"{file.name} is not read; name the .msg or .idl file of a message, or the .srv or .idl file of a service"
        )
        raise RefusedValueError("E-VALUE-FORM", what)
    if not file.is_file():
        raise RefusedValueError("E-FILE-UNREADABLE", f"there is no definition {file}")


def _shipped_values(name: str) -> Path | int:
    """Return the default values of a message that ROS 2 ships: a file of hopmeter or, without a file, the default list
    length."""
    file = FOLDER / ROS2_VALUES / f"{name.replace('/', '.')}{VALUE_SUFFIXES[ROS2]}"
    return file if file.is_file() else LENGTH


def _include(text: str) -> tuple[Path, ...]:
    folders = tuple(_whole(folder) for folder in filter(None, text.split(f":{INCLUDE}")))
    if missing := next((folder for folder in folders if not folder.is_dir()), None):
        raise RefusedValueError("E-FILE-UNREADABLE", f"there is no folder {missing} in which imports could be found")
    return folders


def add_folders(text: str, folders: Sequence[str | Path]) -> str:
    """Return a payload with additional import directories.

    A payload that cannot have import directories is returned unchanged.
    """
    if not (FORM.fullmatch(text) or is_ros2(text)):
        return text
    words = dict.fromkeys(f":{INCLUDE}{folder}" for folder in folders)
    return text + "".join(word for word in words if f"{word}:" not in f"{text}:")


def without_folders(text: str) -> str:
    """Return a payload without its import directories, for display."""
    return text.partition(f":{INCLUDE}")[0] if is_message(text) else text


def _values(text: str | None) -> Path | int:
    if text is None:
        return LENGTH
    if not text.isdecimal():
        return _whole(text)
    if int(text) > MOST_LENGTH:
        raise RefusedValueError("E-VALUE-RANGE", f"{text} values in each list are more than {MOST_LENGTH:,}")
    return int(text)


def _check_file(payload: MessagePayload) -> None:
    file, separate = payload.file, [suffix for codec, suffix in SUFFIXES.items() if codec != ROS2]
    if file.suffix and file.suffix not in separate:
        known = " or ".join(separate)
        raise RefusedValueError("E-VALUE-FORM", f"{file} is not a schema: its suffix must be {known}, or omitted")
    files = candidates(payload)
    if not any(path.is_file() for path in files.values()):
        raise RefusedValueError("E-FILE-UNREADABLE", f"there is no schema {' nor '.join(map(str, files.values()))}")


def candidates(payload: MessagePayload) -> dict[str, Path]:
    """Return the schema file of each codec that may read a payload.

    A suffix in the payload's path determines the codecs that may read the file. If the path has no suffix, each codec
    appends the suffix that it uses. The ROS 2 file is then in the directory `PACKAGE/msg` next to the path.
    """
    file = payload.file
    if file.suffix:
        return {
            codec: file
            for codec, suffix in SUFFIXES.items()
            if file.suffix == suffix or (codec == ROS2 and payload.is_ros2)
        }
    package, _, kind = payload.type.rpartition(".")
    found = {codec: file.with_name(file.name + suffix) for codec, suffix in SUFFIXES.items()}
    beside = file.parent / package / "msg" / f"{kind}{SUFFIXES[ROS2]}"
    return {**found, ROS2: beside}


def _whole(text: str) -> Path:
    return Path(text).expanduser().absolute()
