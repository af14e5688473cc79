"""Builds one codec library: checks the schema, encodes the object, generates and compiles the code, and tests the
library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hopmeter.build import system
from hopmeter.build.command import BuildError
from hopmeter.build.messages import cdr, flatbuffers, protobuf
from hopmeter.build.messages.check import ENCODED
from hopmeter.errors import UsageError
from hopmeter.manifest import LANGUAGES
from hopmeter.schemas import CODECS, Library, Schema, find_schema, parse_message
from hopmeter.schemas.formats import FORMATS, Format
from hopmeter.schemas.library import folder_of, missing_tools
from hopmeter.schemas.payload import KIND, candidates
from hopmeter.schemas.recorded import FACTS, record
from hopmeter.system.toml_files import one_of

OBJECTS: dict[str, Callable[[Schema, Path, Path], None]] = {
    "protobuf": protobuf.write_object,
    "flatbuffers": flatbuffers.write_object,
    "cdr": cdr.write_object,
}
"""Maps each codec to the function that writes the encoded object to send."""
BUILDERS: dict[tuple[str, str], Callable[[Schema, Path, Path], dict[str, object]]] = {
    ("protobuf", "c++"): protobuf.build_cpp,
    ("protobuf", "rust"): protobuf.build_rust,
    ("flatbuffers", "c++"): flatbuffers.build_cpp,
    ("flatbuffers", "rust"): flatbuffers.build_rust,
    ("protobuf", "python"): protobuf.describe_python,
    ("flatbuffers", "python"): flatbuffers.generate_python,
    ("cdr", "c++"): cdr.build_cpp,
    ("cdr", "rust"): cdr.build_rust,
    ("cdr", "python"): cdr.describe_python,
}
"""Maps each codec and language to the function that generates and compiles the code.

Each of these functions returns facts that the nodes need.
"""
CHECKS: dict[str, Callable[[Schema, Path, Path], None]] = {
    "protobuf": protobuf.check_encoded,
    "flatbuffers": lambda *_: None,
    "cdr": cdr.check_encoded,
}
"""Maps each codec to the function that checks the generated code's encoding.

FlatBuffers has no such function, because its objects are compared after decoding.
"""
PATIENCE_S = 60


@dataclass(frozen=True)
class MessageTarget:
    """One codec library: a schema message, a codec and a language."""

    payload: str
    codec: str
    language: str

    @property
    def title(self) -> str:
        """The target's name in messages to the user."""
        return f"{self.payload.removeprefix(KIND)} ({self.codec}, {self.language})"


def select_messages(
    payloads: Sequence[str], codecs: Sequence[str] = (), languages: Sequence[str] = ()
) -> list[MessageTarget]:
    """Return the codec libraries to build for the given messages. Raises UsageError for an unknown name.

    By default, all languages and all codecs for which the message has a schema are selected.
    """
    for known, given in ((CODECS, codecs), (LANGUAGES, languages)):
        if wrong := next((each for each in given if each not in known), ""):
            raise UsageError("E-VALUE-CHOICE", one_of(wrong, known))
    return [
        MessageTarget(text, codec, language)
        for text in (each if each.startswith(KIND) else KIND + each for each in payloads)
        for codec in codecs or _codecs_of(text)
        for each, language in BUILDERS
        if each == codec and (not languages or language in languages)
    ]


def _codecs_of(text: str) -> Iterator[str]:
    """Yield the codecs for which the message has a schema file."""
    yield from (codec for codec, file in candidates(parse_message(text)).items() if file.is_file())


def build_library(target: MessageTarget, log: Path, system_packages: bool = False) -> Library:
    """Build a codec library, and return it. If the schema is faulty, raises a BuildError that contains the compiler's
    message."""
    _demand_packages(target, system_packages)
    schema = find_schema(target.payload, target.codec)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    folder = folder_of(schema, target.language)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        _fill(partial, schema, target, log)
        put_library(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Library(folder)


def put_library(partial: Path, folder: Path) -> None:
    """Rename a finished directory to its final name.

    If another process has finished the same library in the meantime, the directory of that process is kept.
    """
    old = partial.with_suffix(".old")
    with suppress(FileNotFoundError):
        folder.rename(old)
    with suppress(OSError):
        partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _demand_packages(target: MessageTarget, system_packages: bool) -> None:
    packages = FORMATS[target.codec].packages[target.language]
    if system_packages:
        system.install(packages)
    missing = [name for name in FORMATS[target.codec].programs[target.language] if shutil.which(name) is None]
    if missing or (system.missing(packages) and not _has_own_compiler(target)):
        left = system.missing(packages) or missing_tools(target.codec, target.language)
        what = f"{' and '.join(left)} {'is' if len(left) == 1 else 'are'} not installed"
        raise BuildError("E-PACKAGES-MISSING", what, system.line_for(left))


def _has_own_compiler(target: MessageTarget) -> bool:
    """Return whether the schema compiler is not a system package.

    If the schema compiler is not a system package, the codec's library need not be a system package either.
    """
    found = shutil.which(FORMATS[target.codec].compiler)
    return found is not None and not found.startswith("/usr/bin/")


def _fill(folder: Path, schema: Schema, target: MessageTarget, log: Path) -> None:
    folder.mkdir(parents=True)
    OBJECTS[target.codec](schema, folder, log)
    made = BUILDERS[target.codec, target.language](schema, folder, log)
    facts: dict[str, object] = {
        "codec": target.codec,
        "language": target.language,
        "type": schema.type,
        "record": record(schema.file, schema.include, schema.imports),
        "content": schema.content_id,
        "compiler": _compiler_version(FORMATS[target.codec], target.language),
        **made,
    }
    (folder / FACTS).write_text(json.dumps(facts))
    facts["bytes"] = len(_encode(folder, target))
    CHECKS[target.codec](schema, folder, log)
    (folder / FACTS).write_text(json.dumps(facts, indent=1))


def _encode(folder: Path, target: MessageTarget) -> bytes:
    """Encode the object with the generated code, and return the bytes. Raises BuildError if the generated code does not
    decode these bytes to an equal object."""
    command = [sys.executable, "-P", "-m", "hopmeter.build.messages.check", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired as cause:
        what = f"the generated code of {target.title} encoded nothing within {PATIENCE_S} s"
        raise BuildError("E-SCHEMA", what, "build it again when the machine is less busy") from cause
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        what = f"the generated code of {target.title} does not work: {said[-1]}"
        raise BuildError("E-SCHEMA", what, "change the schema or the values", done.stderr)
    return (folder / ENCODED).read_bytes()


def _compiler_version(kind: Format, language: str) -> str:
    """Return the version of the first program that builds code in a language, or an empty string if there is no such
    program."""
    program = next(iter(kind.programs[language]), "")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False) if program else None
    return next(iter(done.stdout.splitlines()), "") if done else ""


def library_log(target: MessageTarget, folder: Path) -> Path:
    """Return the path of a target's log file."""
    word = "".join(char if char.isalnum() else "-" for char in target.payload.removeprefix(KIND))[-60:]
    return folder / f"message-{word}-{target.codec}-{target.language.replace('+', 'p')}.log"
