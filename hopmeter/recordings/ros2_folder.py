"""Finds the files of a ROS 2 bag in its directory.

If metadata.yaml does not match the files in the directory, the files take precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hopmeter.recordings.source import RecordingError
from hopmeter.recordings.streams import UnknownKindError, import_reader
from hopmeter.system.input_files import read_text

METADATA = "metadata.yaml"
STORAGE = re.compile(r"(?P<set>.*?)(?:_(?P<part>\d+))?(?P<kind>\.(?:mcap|db3))(?:\.zstd)?", re.IGNORECASE)


class BagFolder(NamedTuple):
    """The files of a ROS 2 bag in reading order, and remarks about missing files."""

    files: list[Path]
    notes: list[str]


def list_storages(folder: Path) -> BagFolder:
    """Return the files of a bag in reading order.

    Raises RecordingError unless the directory contains exactly one bag, and UnknownKindError for an unknown
    compression.
    """
    present = sorted((each for each in folder.iterdir() if STORAGE.fullmatch(each.name)), key=_order)
    listed = _listed_names(_read_hints(folder))
    named = [file for name in listed for file in present if _plain(file.name) == _plain(name)]
    files = named + [file for file in present if file not in named and _set(file) in set(map(_set, named))]
    missing = [name for name in listed if _plain(name) not in {_plain(file.name) for file in named}] if named else []
    notes = [f"{name}, which {METADATA} lists, is missing: its messages are left out" for name in missing]
    return BagFolder(files or _only_set(folder, present), notes)


def _only_set(folder: Path, present: Iterable[Path]) -> list[Path]:
    sets: dict[str, list[Path]] = {}
    for file in present:
        sets.setdefault(_set(file), []).append(file)
    if not sets:
        what = (
            f"{folder} is not a recording that hopmeter can read: it has no file .mcap, .db3, .mcap.zstd or .db3.zstd"
        )
        raise RecordingError("E-RECORDING", what, "name the folder of a ROS 2 bag, or a file")
    if len(sets) > 1:
        first = ", ".join(files[0].name for files in [*sets.values()][:5])
        what = f"{folder} has the files of {len(sets)} recordings, such as {first}"
        raise RecordingError("E-RECORDING", what, "name one file instead of the folder")
    return next(iter(sets.values()))


def _plain(name: str) -> str:
    """Return a file's name without its directory and compression suffix."""
    return Path(name).name.removesuffix(".zstd")


def _set(file: Path) -> str:
    """Return the part of a file's name that all files of a split recording share."""
    found = STORAGE.fullmatch(file.name)
    return f"{found['set']}{found['kind']}".lower() if found else file.name


def _order(file: Path) -> tuple[str, int, str]:
    found = STORAGE.fullmatch(file.name)
    return (_set(file), int(found["part"] or -1) if found else -1, file.name)


def _read_hints(folder: Path) -> Mapping[str, Any]:
    """Return the bag information in metadata.yaml. Return an empty mapping if metadata.yaml is missing or corrupted."""
    yaml = import_reader("yaml", "pyyaml")
    try:
        found = yaml.load(read_text(folder / METADATA), getattr(yaml, "CSafeLoader", yaml.SafeLoader))[
            "rosbag2_bagfile_information"
        ]
        return found if isinstance(found, Mapping) else {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError, yaml.YAMLError):
        return {}


def _listed_names(hints: Mapping[str, Any]) -> list[str]:
    """Return the files that metadata.yaml lists. Raises UnknownKindError if messages have an unknown compression."""
    used, mode = (str(hints.get(key) or "").lower() for key in ("compression_format", "compression_mode"))
    if mode == "message" and used not in ("", "zstd"):
        raise UnknownKindError(f'messages in the compression "{used}"')
    listed = hints.get("relative_file_paths")
    return [str(each) for each in listed] if isinstance(listed, list) else []
