"""Reads the types of a FlatBuffers schema from the description that flatc writes."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.build.command import BuildError
from hopmeter.build.messages.compilers import run_compiler
from hopmeter.schemas import Schema
from hopmeter.schemas.compilers import COMPILERS, Word
from hopmeter.system.toml_files import one_of

FLATC = COMPILERS["flatbuffers"]
REFLECTION = Path(__file__).with_name("reflection.fbs")
LEAST_ALIGNMENT = 8
"""The size of the largest scalar in bytes."""
Description = dict[str, Any]
"""A reflection.fbs object as JSON. A missing key stands for its default value."""


@dataclass(frozen=True)
class FlatTypes:
    """The tables, structs and enumerations of a schema."""

    objects: list[Description]
    enums: list[Description]

    @property
    def tables(self) -> list[str]:
        """Return the names of all tables."""
        return [each["name"] for each in self.objects if not each.get("is_struct")]

    @property
    def alignment(self) -> int:
        """Return the payload alignment in bytes that C++ needs."""
        return max([LEAST_ALIGNMENT, *(int(each.get("minalign", 0)) for each in self.objects)])


def flatc_words(schema: Schema, folder: Path) -> list[Word]:
    """Return the beginning of a flatc command that writes to a directory. The caller appends output options and input
    files to the command."""
    steps = len(Path(schema.name).parts)
    search = [*schema.imports.search, schema.file.parents[steps - 1]]
    return [FLATC, *(word for each in search for word in ("-I", each)), "-o", folder]


def read_flat_types(schema: Schema, folder: Path, log: Path) -> FlatTypes:
    """Return a schema's types.

    Raises BuildError if flatc rejects the schema, or if the schema's table does not exist.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run_compiler([*flatc_words(schema, folder), "--binary", "--schema", "--bfbs-builtins", schema.file], schema, log)
    (described,) = folder.iterdir()
    as_json: list[Word] = ["--json", "--raw-binary", "--strict-json", REFLECTION, "--", described]
    run_compiler([FLATC, "-o", folder, *as_json], schema, log)
    read = json.loads(described.with_suffix(".json").read_text())
    types = FlatTypes(read.get("objects", []), read.get("enums", []))
    if schema.type not in types.tables:
        what = f"{schema.file.name}: table {one_of(schema.type, types.tables)}"
        raise BuildError("E-SCHEMA-TYPE", what, "name one of its tables")
    return types
