"""Pack a run into one ZIP file, and unpack such a file into a directory.

JSON files are compressed; Parquet files are not, because Parquet already compresses its data. A ZIP file that contains
anything other than a run is rejected before any file is written.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.store.disk import DamagedRunError, check_files, replacing, writing
from hopmeter.store.names import NAME
from hopmeter.system.input_files import open_regular

SUFFIX = ".hopmeter.zip"
FORMAT = 1
COMMENT = re.compile(rb"hopmeter pack (\d{1,9})")
"""The comment of the ZIP file, which contains the version of the layout."""
FILE = (
    rf"run\.json|clocks\.jsonl|why/trials\.jsonl|(?:cells|trials|flows|processes)\.parquet|"
    rf"(?:samples|cpu|why)/{NAME}\.parquet"
)
MEMBER = re.compile(rf"({NAME})/(?:{FILE})")
"""Matches the names in the ZIP file: the run's name, then the name of a file in its folder."""
NEEDED = ("run.json", "cells.parquet", "trials.parquet")
TEXTS = (".json", ".jsonl")
MAX_JSON_BYTES = 1 << 28
"""The maximum size of a text file. The size of Parquet files needs no limit, because they are not compressed and cannot
be larger than the ZIP file."""
MAX_FILES = 200_000
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ArithmeticError, RuntimeError, ValueError)
"""The exceptions that the ZIP library raises for damaged and encrypted files."""
CHUNK = 1 << 20
TIME = (1980, 1, 1, 0, 0, 0)
"""The timestamp of every file in a pack, which is fixed so that packing a run again produces the same bytes."""


def write_pack(run: Path, samples: Iterable[str], out: Path) -> Path:
    """Pack the files of a finished run that commands such as `show` and `report` read, and return `out`.

    `samples` contains the sample files that the trials of the run name. Raises StoreError if a file is missing.
    """
    check_files(run, (*NEEDED, *samples))
    names = _members(run)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.comment = b"hopmeter pack %d" % FORMAT
        for name in names:
            _add(archive, run / name, f"{run.name}/{name}")
    return out


def _members(run: Path) -> list[str]:
    """Return the names of the files to pack, in a fixed order."""
    files = (path.relative_to(run).as_posix() for pattern in ("*", "*/*") for path in run.glob(pattern))
    return sorted(name for name in files if MEMBER.fullmatch(f"{run.name}/{name}"))


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    member = zipfile.ZipInfo(name, TIME)
    member.compress_type = _compression(name)
    member.external_attr = (stat.S_IFREG | 0o644) << 16
    try:
        source = open_regular(path)
    except OSError as cause:
        raise DamagedRunError(
            "E-FILE-DAMAGED", f"{path} cannot be read: {cause.strerror or cause}", "restore the file from a copy"
        ) from cause
    with source, archive.open(member, "w", force_zip64=True) as target:
        shutil.copyfileobj(source, target, CHUNK)


def _compression(name: str) -> int:
    return zipfile.ZIP_DEFLATED if name.endswith(TEXTS) else zipfile.ZIP_STORED


def unpack(file: Path, into: Path) -> Path:
    """Unpack a run atomically into a new subdirectory of `into`, and return the subdirectory.

    Raises UsageError if the run already exists in `into`, and StoreError if the file is damaged or not a packed run.
    """
    with _open_archive(file) as archive:
        name = _check_archive(file, archive)
        target = into / name
        if os.path.lexists(target):
            raise UsageError(
                "E-RUN-EXISTS",
                f"{target} already exists",
                "move the existing folder, or name another folder with --out",
            )
        with writing(target):
            into.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=into) as scratch:
                _extract(archive, Path(scratch))
                (Path(scratch) / name).rename(target)
    return target


def refuse_packed(path: Path) -> None:
    """Raise UsageError if the run is packed, because a packed run cannot be resumed."""
    if path.is_file():
        raise UsageError("E-RUN-PACKED", f"{path} is a packed run", f"unpack it: `hopmeter unpack {path}`")


def run_directory(path: Path) -> Path:
    """Return the directory that contains a run's files. A packed run is first unpacked into a temporary directory. The
    temporary directory is removed when the current process ends."""
    if not path.is_file():
        return path
    found = path.stat()
    return _temporary(path.resolve(), found.st_mtime_ns, found.st_size)


@functools.cache
def _temporary(file: Path, changed_ns: int, size: int) -> Path:  # noqa: ARG001  (a changed file must miss the cache)
    folder = Path(tempfile.mkdtemp(prefix="hopmeter-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return unpack(file, folder)


@contextmanager
def _open_archive(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_regular(file) as source, zipfile.ZipFile(source) as archive:
            yield archive
    except FileNotFoundError as cause:
        raise UsageError("E-NO-RUN", f"{file} does not exist", "name a file that `hopmeter pack` wrote") from cause
    except DAMAGE as cause:
        raise DamagedRunError(
            "E-PACK-DAMAGED",
            f"{file} is damaged, or is not a packed run: {cause}",
            "copy the file again, or pack the run again",
        ) from cause
    except OSError as cause:
        raise DamagedRunError(
            "E-FILE-UNREADABLE", f"{file} cannot be read: {cause.strerror or cause}", "name a regular file"
        ) from cause


def _check_archive(file: Path, archive: zipfile.ZipFile) -> str:
    """Check a packed run, and return the name of the run. Raises StoreError if the ZIP file contains files that are not
    part of a packed run."""
    _check_format(file, archive.comment)
    members = archive.infolist()
    wrong = _wrong(members, file.stat().st_size)
    if wrong:
        raise DamagedRunError(
            "E-PACK-UNSAFE", f"{file} was not unpacked: {wrong}", "unpack only files that `hopmeter pack` wrote"
        )
    missing = {name.partition("/")[2] for name in archive.namelist()}
    if lacking := [name for name in NEEDED if name not in missing]:
        raise DamagedRunError("E-PACK-DAMAGED", f"{file} has no {lacking[0]}", "pack the run again")
    return members[0].filename.partition("/")[0]


def _check_format(file: Path, comment: bytes) -> None:
    found = COMMENT.fullmatch(comment)
    if not found:
        raise DamagedRunError("E-PACK-DAMAGED", f"{file} is not a packed run", "name a file that `hopmeter pack` wrote")
    if int(found[1]) > FORMAT:
        raise UsageError(
            "E-RUN-FORMAT",
            f"{file} has the layout {int(found[1])}, but this hopmeter reads up to {FORMAT}",
            "unpack it with a later version of hopmeter",
        )


def _wrong(members: list[zipfile.ZipInfo], size: int) -> str:
    """Return why the ZIP file is not a packed run, or an empty string if the file is a packed run."""
    if len(members) > MAX_FILES:
        return f"it has {len(members):,} files, and at most {MAX_FILES:,} are allowed"
    found = next((reason for each in members if (reason := _wrong_member(each))), "")
    names = [each.filename for each in members]
    if not found and len(set(names)) < len(names):
        found = "it contains two files with the same name"
    if not found and len({name.partition("/")[0] for name in names}) > 1:
        found = "it contains more than one run"
    if not found and sum(each.file_size for each in members if not each.filename.endswith(TEXTS)) > size:
        found = "its files are larger than the ZIP file itself"
    return found


def _wrong_member(member: zipfile.ZipInfo) -> str:
    name = member.filename
    kind = stat.S_IFMT(member.external_attr >> 16)
    if member.header_offset < 0:
        return f"its entry {name[:80]!r} begins before the ZIP file itself"
    if not MEMBER.fullmatch(name):
        return f"it contains the file {name[:80]!r}, which does not belong to a run"
    if kind not in (0, stat.S_IFREG):
        return f"{name} is a link or another special file"
    if member.compress_type != _compression(name) or member.flag_bits & 1:
        return f"{name} is compressed or encrypted in a way that `hopmeter pack` never uses"
    if name.endswith(TEXTS) and member.file_size > MAX_JSON_BYTES:
        return f"{name} has {member.file_size:,} bytes, and at most {MAX_JSON_BYTES:,} are allowed"
    return ""


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    for member in archive.infolist():
        path = folder / member.filename
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, path.open("xb") as target:
            shutil.copyfileobj(source, target, CHUNK)
