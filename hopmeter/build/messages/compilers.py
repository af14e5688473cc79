"""Runs schema compilers and code compilers. If a schema compiler fails, its first error becomes the BuildError."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hopmeter.build.command import BuildError, tail
from hopmeter.schemas import Schema
from hopmeter.schemas.compilers import COMPILERS, Word, complaint, first_error, run_words, version
from hopmeter.schemas.compilers import remedy as remedy_of
from hopmeter.system import subprocesses

ERROR = re.compile(r"^(?:.*: )?(?:fatal )?error(?:\[\w+\])?: (.+)", re.MULTILINE)
"""Matches the first line of an error from a C++ compiler or rustc."""

PANIC = re.compile(r"panicked at .*\n\s*(.+)")
"""Matches the reason why a Rust code generator panicked."""


def run_compiler(
    command: Sequence[Word],
    schema: Schema,
    log: Path,
    given: bytes = b"",
    about: str = "the schema",
    cwd: Path | None = None,
) -> bytes:
    """Return a compiler's output for the input `given`, and log the compiler's errors.

    Raises a BuildError that contains the compiler's first error.
    """
    _write(log, f"$ {' '.join(map(str, command))}\n")
    done = run_words(command, cwd or schema.file.parent, given)
    if done.returncode != 0:
        said = complaint(done)
        _write(log, said)
        program = str(command[0])
        what = f"{program} does not accept {about} of {schema.type}: {first_error(said)}"
        raise BuildError("E-SCHEMA", what, remedy_of(program), said)
    return done.stdout


def compile_library(command: Sequence[Word], schema: Schema, log: Path, cwd: Path, generator: str = "") -> None:
    """Compile generated code, and log all output. Raises a BuildError that contains the last lines of the log.

    `generator` names the program that generated the code, by default the schema compiler.
    """
    words = [str(word) for word in command]
    _write(log, f"$ {' '.join(words)}\n")
    with log.open("a") as sink:
        try:
            status = subprocesses.run(
                words, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, cwd=cwd
            ).returncode
        except OSError as cause:
            raise BuildError("E-NO-TOOL", f"{words[0]} does not start: {cause.strerror}", "install it") from cause
    if status != 0:
        generator = generator or version(COMPILERS[schema.codec])
        said = log.read_text(errors="replace")
        found = PANIC.search(said) or ERROR.search(said)
        why = found[1] if found else "the compiler failed"
        what = f"the code that {generator} generates for {schema.type} does not compile: {why} (full log: {log})"
        remedy = "in the schema, rename the item that the compiler's message names, or measure another language"
        raise BuildError("E-COMMAND-FAILED", what, remedy, tail(log))


def _write(log: Path, text: str) -> None:
    with log.open("a") as sink:
        sink.write(text)
