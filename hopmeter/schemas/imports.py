"""Finds the files that a schema imports, with the search rules of the schema's compiler."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hopmeter.errors import UsageError
from hopmeter.schemas.compilers import COMPILERS, complaint, first_error, remedy, run_words
from hopmeter.schemas.descriptors import compile_set, describe
from hopmeter.schemas.import_root import NOT_FOUND, rank_roots
from hopmeter.schemas.ros2 import files as ros2
from hopmeter.system.input_files import read_text

WELL_KNOWN = "google/protobuf/"
"""The import directory of the schema files that the Protocol Buffers compiler itself provides."""
FLATC = COMPILERS["flatbuffers"]
NOT_LOADED = "unable to load include file"
NO_IMPORT = re.compile(rf'^ *(.+?):\d+: ?\d+: (?:Import "(.+)" was not found|error: {NOT_LOADED}: (.+))', re.MULTILINE)
"""Matches an error of protoc or flatc about a missing import, with the importing file."""


@dataclass(frozen=True)
class Imports:
    """The files of a schema, and the import directories that its compiler needs."""

    search: tuple[Path, ...]
    files: Mapping[str, Path]
    """The files by import name, starting with the schema. The compiler's own files are excluded."""


def find_imports(file: Path, codec: str, include: Sequence[Path]) -> Imports:
    """Return the files of a schema, which may import files from `include` and from the directories above the schema.

    Raises UsageError with the compiler's error if the schema cannot be used.
    """
    return FINDERS[codec](file, include)


def _find_proto(file: Path, include: Sequence[Path]) -> Imports:
    is_inside = any(folder in file.parents for folder in include)
    searches = [include] if is_inside else [(root, *include) for root in rank_roots(file, include)]
    for search in searches:
        described, paths, said = compile_set(file, search)
        if described:
            return Imports(tuple(search), dict(_name_files(describe(described), search, paths)))
        if not NOT_FOUND.search(said.decode(errors="replace")):
            raise _rejection(file, "protobuf", said.decode(errors="replace"))
    raise _no_import(file, compile_set(file, searches[0])[2].decode(errors="replace"))


def _name_files(
    described: Sequence[Mapping[str, list[str]]], search: Sequence[Path], paths: Sequence[Path]
) -> Iterator[tuple[str, Path]]:
    for each in reversed(described):
        name = each["name"][0]
        found = next((folder / name for folder in search if (folder / name).is_file()), None)
        if found is None and not name.startswith(WELL_KNOWN):
            found = next(path for path in paths if str(path).endswith(f"/{name}"))
        if found is not None:
            yield name, found


def _find_flat(file: Path, include: Sequence[Path]) -> Imports:
    is_inside = any(folder in file.parents for folder in include)
    # Even without an import directory, flatc finds files that are named relative to the including file.
    for search in [tuple(include), *(() if is_inside else ((*include, root) for root in file.parents))]:
        done = _list_files(file, search)
        if done.returncode == 0:
            files = list(dict.fromkeys([file, *_make_rule(done.stdout.decode(), file.parent)]))
            base = os.path.commonpath([path.parent for path in files])
            return Imports(search, {str(path.relative_to(base)): path for path in files})
        if NOT_LOADED not in (said := complaint(done)):
            raise _rejection(file, "flatbuffers", said)
    raise _no_import(file, said)


def _list_files(file: Path, search: Sequence[Path]) -> subprocess.CompletedProcess[bytes]:
    """Let flatc print the files of a schema as a Makefile rule. flatc's output format `--binary --schema` supports all
    schemas, but needs a root table."""
    with TemporaryDirectory() as folder:
        root = Path(folder) / "root.fbs"
        root.write_text(f'include "{file.name}"; namespace hopmeter_root; table Root {{}} root_type Root;')
        words = [word for each in (file.parent, *search) for word in ("-I", each)]
        return run_words([FLATC, "-M", "--binary", "--schema", *words, root], file.parent)


def _make_rule(rule: str, folder: Path) -> Iterator[Path]:
    """Yield the files in a Makefile rule from flatc, which does not quote spaces in paths."""
    part = ""
    for word in rule.partition(": ")[2].replace("\\\n", " ").split():
        part = f"{part} {word}" if part else word
        if part.endswith("/root.fbs") and not (folder / part).exists():
            part = ""
        elif (folder / part).is_file():
            yield Path(os.path.normpath(folder / part))
            part = ""


def _rejection(file: Path, codec: str, said: str) -> UsageError:
    program = COMPILERS[codec]
    what = f"{program} does not accept the schema {file.name}: {first_error(said)}"
    return UsageError("E-SCHEMA", what, remedy(program, read_text(file)))


def _no_import(file: Path, said: str) -> UsageError:
    found = NO_IMPORT.search(said)
    importer, missing = (Path(found[1]).name, found[2] or found[3]) if found else (file.name, first_error(said))
    return UsageError(
        "E-SCHEMA",
        f'{importer} imports "{missing}", which is in no folder above {file}',
        "name the folder in which it is with --include DIR, once for each such folder",
    )


def _find_ros2(file: Path, include: Sequence[Path]) -> Imports:
    return Imports(tuple(include), ros2.find_definitions(file, include))


FINDERS = {"protobuf": _find_proto, "flatbuffers": _find_flat, "cdr": _find_ros2}
