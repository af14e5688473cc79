"""Locates codec libraries.

A codec library encodes one message type with one codec in one language. The directory name of a codec library contains
a hash of the library's sources.
"""

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
"""The encoded response of a service. The file with the encoded object, next to it, contains the request."""
GENERATED = "generated"
"""The directory with a message's generated code."""
DEFINITIONS = "definitions.json"
"""The fields of a ROS 2 message and of all nested messages. Each message follows the messages that it uses."""
DESCRIPTORS = "schema.desc"
"""The descriptors of a Protocol Buffers schema and its imports, from which Python creates its classes."""
NAME = re.compile(rf"({'|'.join(FORMATS)})-(rust|cpp|python)-[A-Za-z0-9_.]{{1,200}}-[0-9a-f]{{16}}")
"""Matches the directory name of a codec library."""


@dataclass(frozen=True)
class Library:
    """The directory of a codec library, which may not have been built yet."""

    folder: Path

    @property
    def path(self) -> Path:
        """Return the path of the shared library, which C++ and Rust nodes load."""
        return self.folder / LIBRARY

    @property
    def object(self) -> Path:
        """Return the path of the file that contains the encoded message to send."""
        return self.folder / OBJECT

    @functools.cached_property
    def facts(self) -> dict[str, Any]:
        """Return the facts that the build of the library recorded. Return an empty dict if the library has not
        been built."""
        return read_facts(self.folder)


@functools.cache
def library_of(payload: str, codec: str, language: str) -> Library:
    """Return the codec library of a payload. Each command reads a schema only once, so that all trials of the command
    use one version of the schema.

    Raises UsageError if the codec has no schema for the payload.
    """
    return Library(folder_of(find_schema(payload, codec), language))


def folder_of(schema: Schema, language: str) -> Path:
    """Return the directory of the codec library for the current content of a schema."""
    digest = blake2b(schema.content_id.encode(), digest_size=8)
    for source in sources(schema.codec, language):
        digest.update(source.read_bytes())
    word = paths.language_word(language)
    name = schema.type.replace("/", ".")
    return paths.codec_folder() / f"{schema.codec}-{word}-{name}-{digest.hexdigest()}"


def built_libraries() -> list[str]:
    """Return the directory names of all codec libraries that have been built.

    If two hosts have identical hopmeter versions and schemas, a codec library has the same directory name on both.
    """
    return sorted(
        each.parent.name for each in paths.codec_folder().glob(f"[!.]*/{FACTS}") if NAME.fullmatch(each.parent.name)
    )


def sources(codec: str, language: str) -> list[Path]:
    """Return hopmeter's own source files that affect a codec library."""
    build = sorted((paths.PACKAGE / "build/messages").glob("*.[pf][yb]*"))
    if language == "rust":
        return [*build, paths.codec_sources() / "table.rs", paths.codec_sources() / f"{codec}.rs"]
    if language == "c++":
        return [*build, paths.cpp_folder() / "include/hopmeter/codec.h", paths.cpp_folder() / "codecs" / f"{codec}.cpp"]
    return build


def languages(codec: str) -> list[str]:
    """Return the languages for which a codec has codec libraries. Return an empty list if the codec has no schemas."""
    return list(FORMATS[codec].programs) if codec in FORMATS else []


def missing_tools(codec: str, language: str) -> list[str]:
    """Return the system packages that contain the missing build programs."""
    programs = FORMATS[codec].programs[language]
    return list(dict.fromkeys(package for program, package in programs.items() if shutil.which(program) is None))
