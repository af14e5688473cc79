"""The codec libraries: one for each language, codec and message, in a folder that is named after their content."""

from __future__ import annotations

import functools
import re
import shutil
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hopmeter.schemas.formats import FORMATS
from hopmeter.schemas.recorded import FACTS, read_facts
from hopmeter.schemas.schema import Schema, find_schema
from hopmeter.system import paths

LIBRARY = "codec.so"
OBJECT = "object.bin"
REPLY = "reply.bin"
"""The response of a service, encoded, next to the object, which is the request."""
GENERATED = "generated"
"""The folder with the generated code of a message."""
DEFINITIONS = "definitions.json"
"""The fields of a ROS 2 message and of all messages in it. Each message follows the ones that it contains."""
DESCRIPTORS = "schema.desc"
"""The descriptors of a schema of Protocol Buffers and of its imports, from which Python makes its classes."""
NAME = re.compile(rf"({'|'.join(FORMATS)})-(rust|cpp|python)-[A-Za-z0-9_.]{{1,200}}-[0-9a-f]{{16}}")
"""The name of a library's folder."""


@dataclass(frozen=True)
class Library:
    """Where a codec library is, or would be once it is built."""

    folder: Path

    @property
    def path(self) -> Path:
        """Return the shared library, which nodes in C++ and Rust load."""
        return self.folder / LIBRARY

    @property
    def object(self) -> Path:
        """Return the file with the encoded object that is sent."""
        return self.folder / OBJECT

    @functools.cached_property
    def facts(self) -> dict[str, Any]:
        """Return what the build wrote down; empty if the library is not built."""
        return read_facts(self.folder)


@functools.cache
def library_of(payload: str, codec: str, language: str) -> Library:
    """Return the codec library of a payload. The schema is read once in each command, so that all its trials agree.

    Raises UsageError if the codec has no such schema.
    """
    return Library(folder_of(find_schema(payload, codec), language))


def folder_of(schema: Schema, language: str) -> Path:
    """Return the folder of the library for the present content of a schema."""
    digest = blake2b(schema.content_id.encode(), digest_size=8)
    for source in sources(schema.codec, language):
        digest.update(source.read_bytes())
    word = paths.language_word(language)
    name = schema.type.replace("/", ".")
    return paths.codec_folder() / f"{schema.codec}-{word}-{name}-{digest.hexdigest()}"


def built_libraries() -> list[str]:
    """Return the names of the folders of all libraries that are built. Hosts with the same version of hopmeter and the
    same schema have the same names."""
    return sorted(
        each.parent.name for each in paths.codec_folder().glob(f"[!.]*/{FACTS}") if NAME.fullmatch(each.parent.name)
    )


def sources(codec: str, language: str) -> list[Path]:
    """Return hopmeter's own sources that decide what a library is."""
    build = sorted((paths.PACKAGE / "build/messages").glob("*.[pf][yb]*"))
    if language == "rust":
        return [*build, paths.codec_sources() / "table.rs", paths.codec_sources() / f"{codec}.rs"]
    if language == "c++":
        return [*build, paths.cpp_folder() / "include/hopmeter/codec.h", paths.cpp_folder() / "codecs" / f"{codec}.cpp"]
    return build


def languages(codec: str) -> list[str]:
    """Return the languages in which a codec carries messages."""
    return list(FORMATS[codec].programs) if codec in FORMATS else []


def missing_tools(codec: str, language: str) -> list[str]:
    """Return the system packages of the programs that are not installed and that a library needs."""
    programs = FORMATS[codec].programs[language]
    return list(dict.fromkeys(package for program, package in programs.items() if shutil.which(program) is None))
