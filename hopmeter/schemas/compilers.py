"""Runs the schema compilers `protoc` and `flatc`. hopmeter uses the first `protoc` and the first `flatc` in PATH."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.schemas.formats import FORMATS

COMPILERS = {codec: each.compiler for codec, each in FORMATS.items() if each.compiler}
"""The schema compiler of each codec. hopmeter itself reads the schemas of other codecs."""
PLACE = re.compile(r":\s?\d+:")
"""Matches the line and column number in an error of protoc or flatc."""
EDITION = re.compile(r'^[ \t]*edition[ \t]*=[ \t]*["\']', re.MULTILINE)
"""Matches an edition declaration. A protoc without support for editions rejects such a declaration without a clear
reason."""
FIRST_WITH_EDITIONS = 27
"""The first version of protoc that supports editions. The version after 3.20 was called 21."""
WARNING = re.compile(r"^\[libprotobuf WARNING|: warning: ")
AFTER_HELP = "\nerror:"
"""The beginning of flatc's error message, if flatc prints all its options before the message."""
PATIENCE_S = 60
Word = str | Path
"""One word of a command."""


def has_compiler(codec: str) -> bool:
    """Return whether a codec's schema compiler is installed, or whether the codec needs no schema compiler."""
    return codec not in COMPILERS or shutil.which(COMPILERS[codec]) is not None


def run_words(words: Sequence[Word], cwd: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a schema compiler with `given` as its standard input.

    Raises UsageError if the compiler does not start or does not finish in time.
    """
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
    """Return the text of the error with which a compiler failed."""
    said = (done.stderr or done.stdout).decode(errors="replace")
    return said[max(0, said.find(AFTER_HELP)) :].strip()


def first_error(said: str) -> str:
    """Return the compiler's first output line that names a position in a file, or the last line if no line does."""
    lines = [line.strip().removeprefix("error:").strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if not WARNING.search(line)]
    return next(filter(PLACE.search, errors), errors[-1] if errors else "it printed no reason")


def version(program: str) -> str:
    """Return a compiler's version and path, such as `protoc 3.21.12 (/usr/bin/protoc)`."""
    done = run_words([program, "--version"], Path.cwd())
    words = done.stdout.decode(errors="replace").split() or ["of an unknown version"]
    return f"{program} {words[-1]} ({shutil.which(program)})"


def remedy(program: str, text: str = "") -> str:
    """Return advice on how to fix a schema that a compiler rejects. The advice also covers schemas that need a newer
    compiler.

    `text` is the schema's text, or empty if the text is not known.
    """
    newer = f"put a newer {program} first in PATH, which hopmeter then uses"
    known = re.search(r" (\d+)", version(program))
    if program == COMPILERS["protobuf"] and EDITION.search(text) and known and int(known[1]) < FIRST_WITH_EDITIONS:
        return f"{version(program)} is installed, and editions need {program} {FIRST_WITH_EDITIONS} or newer: {newer}"
    return f"correct the line, or, if {version(program)} is too old for it, {newer}"
