"""Writes the definitions of the messages that ROS 2 ships to files. The definitions come from the Python package
`rosbags`."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.schemas.ros2.definition import PLACEHOLDER
from hopmeter.system import paths

ROSBAGS = "rosbags"
RELEASE = "ros2_kilted"
"""The name, in rosbags, of the ROS 2 release that defines hopmeter's ROS 2 messages."""
INSTALL = "run `hopmeter build --framework cdr`"
DEFAULTS = {"geometry_msgs/msg/Quaternion": {"w": "1"}, "sensor_msgs/msg/NavSatStatus": {"status": "-2"}}
"""The default values of fields, which rosbags' definitions lack."""
BASE, NAMED, ARRAY, SEQUENCE = range(1, 5)
"""The numbers by which rosbags identifies kinds of types."""


@functools.cache
def standard_folder() -> Path:
    """Return the directory with the definitions of the messages that ROS 2 ships. The definition files are written once
    for each version of rosbags.

    Raises UsageError if rosbags is not installed.
    """
    from importlib import metadata  # imported lazily, because few commands need it

    try:
        version = metadata.version(ROSBAGS)
    except metadata.PackageNotFoundError as cause:
        what = f"{ROSBAGS} is not installed, which has the messages that ROS 2 ships"
        raise UsageError("E-FRAMEWORK-MISSING", what, INSTALL) from cause
    written_by = blake2b(Path(__file__).read_bytes(), digest_size=4).hexdigest()
    folder = paths.codec_folder() / f".{RELEASE}-{version}-{written_by}"
    if not folder.is_dir():
        _write_all(folder)
    return folder


def is_standard(file: Path) -> bool:
    """Return whether a file is in `standard_folder`, which each host writes for itself."""
    return file.parent.parent.parent.name.startswith(f".{RELEASE}-")


def _write_all(folder: Path) -> None:
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        _fill(partial)
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise, another process has created the directory
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _fill(folder: Path) -> None:
    from rosbags.typesys import Stores, get_typestore

    for name, (constants, fields) in get_typestore(Stores(RELEASE)).fielddefs.items():
        file = folder / f"{name}.msg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in _lines(name, constants, fields)))


def _lines(name: str, constants: Any, fields: Any) -> Iterator[str]:
    """Yield the lines of a message's definition, generated from the fields that rosbags lists."""
    yield from (f"{kind} {constant}={_value(value)}" for constant, kind, value in constants)
    for field, kind in fields:
        if field != PLACEHOLDER:
            yield f"{_type(kind)} {field} {DEFAULTS.get(name, {}).get(field, '')}".rstrip()


def _value(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _type(described: Any) -> str:
    kind, detail = described
    if kind == BASE:
        return f"{detail[0]}<={detail[1]}" if detail[1] else str(detail[0])
    if kind == NAMED:
        return str(detail).replace("/msg/", "/")
    inner, length = detail
    return f"{_type(inner)}[{f'<={length}' if kind == SEQUENCE and length else length or ''}]"
