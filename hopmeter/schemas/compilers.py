"""The compilers of schemas: `protoc` and `flatc`, the first ones in PATH."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.schemas.formats import FORMATS

COMPILERS = {codec: each.compiler for codec, each in FORMATS.items() if each.compiler}
"""The compiler of schemas, by codec; hopmeter reads the schemas of other codecs itself."""
PLACE = re.compile(r":\s?\d+:")
"""The line number in an error of protoc and flatc."""
EDITION = re.compile(r'^[ \t]*edition[ \t]*=[ \t]*["\']', re.MULTILINE)
"""What an old protoc does not read, which it does not say."""
FIRST_WITH_EDITIONS = 27
"""The first version of protoc that reads editions; the version before 21 was 3.20."""
WARNING = re.compile(r"^\[libprotobuf WARNING|: warning: ")
AFTER_HELP = "\nerror:"
"""Where the error of flatc begins, if it printed all its options before."""
PATIENCE_S = 60
Word = str | Path
"""A word of a command."""


def has_compiler(codec: str) -> bool:
    """Return whether the compiler of a codec's schemas is installed, or hopmeter reads them itself."""
    return codec not in COMPILERS or shutil.which(COMPILERS[codec]) is not None


def run_words(words: Sequence[Word], cwd: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a compiler with an input. Raises UsageError if it does not start or does not end."""
    command = [str(word) for word in words]
    try:
        return subprocess.run(command, input=given, capture_output=True, check=False, cwd=cwd, timeout=PATIENCE_S)
    except OSError as cause:
        what = f"{command[0]} does not start: {cause.strerror}"
        raise UsageError("E-NO-TOOL", what, f"install {command[0]}") from cause
    except subprocess.TimeoutExpired as cause:
        what = f"{command[0]} does not end within {PATIENCE_S} s"
        raise UsageError("E-SCHEMA", what, "use a smaller schema") from cause


def complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return what a compiler that failed said about it."""
    said = (done.stderr or done.stdout).decode(errors="replace")
    return said[max(0, said.find(AFTER_HELP)) :].strip()


def first_error(said: str) -> str:
    """Return the first line of a compiler's output that names a place in a file, otherwise the last line."""
    lines = [line.strip().removeprefix("error:").strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if not WARNING.search(line)]
    return next(filter(PLACE.search, errors), errors[-1] if errors else "it printed no reason")


def version(program: str) -> str:
    """Return the version of a compiler, and where it is: `protoc 3.21.12 (/usr/bin/protoc)`."""
    done = run_words([program, "--version"], Path.cwd())
    words = done.stdout.decode(errors="replace").split() or ["of an unknown version"]
    return f"{program} {words[-1]} ({shutil.which(program)})"


def remedy(program: str, text: str = "") -> str:
    """Return what to do if a compiler rejects a schema, with the text of the schema if it is known: an old compiler
    also rejects valid lines."""
    newer = f"put a newer {program} first in PATH, which hopmeter then uses"
    known = re.search(r" (\d+)", version(program))
    if program == COMPILERS["protobuf"] and EDITION.search(text) and known and int(known[1]) < FIRST_WITH_EDITIONS:
        return f"{version(program)} is installed, and editions need {program} {FIRST_WITH_EDITIONS} or newer: {newer}"
    return f"correct the line, or, if {version(program)} is too old for it, {newer}"
