"""Builds a C++ library for each file of a Protocol Buffers schema.

A program may define each file only once, so messages from the same file share a library, which is loaded once.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from hopmeter.build.messages.compilers import compile_library, run_compiler
from hopmeter.build.messages.cpp import FLAGS, compiler
from hopmeter.schemas import Schema
from hopmeter.schemas.compilers import Word, run_words, version
from hopmeter.schemas.descriptors import PROTOC, Tree, search_words
from hopmeter.schemas.imports import WELL_KNOWN
from hopmeter.schemas.library import sources
from hopmeter.system import paths


@dataclass(frozen=True)
class ProtoFile:
    """The C++ library of one schema file."""

    identity: str
    """A string that changes if the file or any of its imports changes."""
    imported: tuple[ProtoFile, ...]

    @property
    def folder(self) -> Path:
        """Return the directory of the generated code."""
        return _files_folder() / self.identity

    @property
    def library(self) -> Path:
        """Return the library's path. The library exists only after a complete build."""
        return _files_folder() / f"lib{self.identity}.so"


def _files_folder() -> Path:
    return paths.codec_folder() / "files"


def build_files(schema: Schema, described: Sequence[Tree], work: Path, log: Path) -> dict[str, ProtoFile]:
    """Build the missing libraries of a schema's files, and return all libraries by file name.

    Schema files that belong to the Protocol Buffers library itself are omitted.
    """
    files = _identify(schema, described)
    if missing := [name for name, file in files.items() if not file.library.exists()]:
        _generate(schema, {name: files[name] for name in missing}, work, log)
        _compile([files[name] for name in missing], schema, log)
    return files


def _identify(schema: Schema, described: Sequence[Tree]) -> dict[str, ProtoFile]:
    builder = blake2b(f"{version(PROTOC)} {compiler()}".encode())
    for source in sources("protobuf", "c++"):
        builder.update(source.read_bytes())
    found: dict[str, ProtoFile] = {}
    for tree in described:
        name = tree["name"][0]
        if name in schema.imports.files and not _is_in_protobuf(name):
            imported = tuple(found[each] for each in tree.get("dependency", ()) if each in found)
            found[name] = ProtoFile(_identity(name, schema.imports.files[name], imported, builder.digest()), imported)
    return found


def _identity(name: str, path: Path, imported: Iterable[ProtoFile], builder: bytes) -> str:
    digest = blake2b(builder + name.encode() + b"\n" + path.read_bytes(), digest_size=8)
    digest.update(" ".join(each.identity for each in imported).encode())
    word = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.removesuffix(".proto"))
    return f"{word[-80:]}-{digest.hexdigest()}"


@functools.cache
def _is_in_protobuf(name: str) -> bool:
    """Return whether the Protocol Buffers library contains a file, according to its installed headers."""
    if not name.startswith(WELL_KNOWN) or "/" in name.removeprefix(WELL_KNOWN):
        return False
    included = f"#include <{name.removesuffix('.proto')}.pb.h>".encode()
    words: list[Word] = [*compiler(), *library_flags()[0], "-E", "-x", "c++", "-", "-o", os.devnull]
    return run_words(words, Path.cwd(), included).returncode == 0


@functools.cache
def library_flags() -> tuple[list[str], list[str]]:
    """Return the compiler flags and linker flags for the Protocol Buffers library to which protoc belongs."""
    found = shutil.which(PROTOC)
    prefix = Path(found).resolve().parent.parent if found else Path("/usr")
    if prefix in (Path("/usr"), Path("/")) or shutil.which("pkg-config") is None:
        return [], ["-lprotobuf"]
    folders = [str(each) for each in sorted(prefix.glob("lib*/pkgconfig"))]
    known = {**os.environ, "PKG_CONFIG_PATH": ":".join([*folders, os.environ.get("PKG_CONFIG_PATH", "")])}
    answers = [
        subprocess.run(["pkg-config", kind, "protobuf"], env=known, capture_output=True, text=True, check=False).stdout
        for kind in ("--cflags", "--libs")
    ]
    paths_at_run_time = [f"-Wl,-rpath,{folder.parent}" for folder in prefix.glob("lib*/pkgconfig")]
    return answers[0].split(), [*answers[1].split(), *paths_at_run_time] or ["-lprotobuf"]


def _generate(schema: Schema, files: Mapping[str, ProtoFile], work: Path, log: Path) -> None:
    """Generate the code of the given files, each in its own directory."""
    generated, empty = work / "all", work / "empty"
    generated.mkdir()
    empty.mkdir()
    # protoc treats a name as a path if a file of this name exists. The working directory is empty, so that protoc
    # treats every name as an import.
    words = [PROTOC, *search_words(schema.imports.search), f"--cpp_out={generated}", *files]
    run_compiler(words, schema, log, cwd=empty)
    for name, file in files.items():
        for suffix in (".pb.h", ".pb.cc"):
            code = Path(name.removesuffix(".proto") + suffix)
            target = file.folder / code
            target.parent.mkdir(parents=True, exist_ok=True)
            (generated / code).replace(target)


def _compile(files: Sequence[ProtoFile], schema: Schema, log: Path) -> None:
    """Compile schema files in parallel. Each file is compiled after the files that it imports."""
    started: dict[str, Future[None]] = {}

    def compile_one(file: ProtoFile) -> None:
        for each in file.imported:
            if each.identity in started:
                started[each.identity].result()
        partial = file.library.with_suffix(f".{os.getpid()}")
        words = [*link_words(_closure(file), file.imported), f"-Wl,-soname,{file.library.name}", "-o", partial]
        (code,) = file.folder.rglob("*.pb.cc")
        compile_library([*compiler(), *FLAGS, code, *words], schema, log, file.folder)
        partial.replace(file.library)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file in files:
            started[file.identity] = pool.submit(compile_one, file)
    for future in started.values():
        future.result()


def _closure(file: ProtoFile) -> list[ProtoFile]:
    """Return a file and all files that it imports, directly or indirectly."""
    found = {file.identity: file}
    for each in file.imported:
        found |= {one.identity: one for one in _closure(each)}
    return list(found.values())


def link_words(headers: Iterable[ProtoFile], libraries: Iterable[ProtoFile]) -> list[Word]:
    """Return the compiler and linker flags for the given headers and libraries."""
    flags, links = library_flags()
    folder = f"-Wl,--no-as-needed,-rpath,$ORIGIN,-rpath,$ORIGIN/../{_files_folder().name}"
    return [*flags, *(f"-I{each.folder}" for each in headers), folder, *(each.library for each in libraries), *links]
