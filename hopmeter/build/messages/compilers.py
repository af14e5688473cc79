"""Run the compilers of schemas; their first error becomes the error of the build."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hopmeter.build.command import BuildError, tail
from hopmeter.schemas import Schema
from hopmeter.system import subprocesses

PLACE = re.compile(r":\s?\d+:")
"""The line number in an error of protoc and flatc."""


Word = str | Path
"""A word of a command."""
AFTER_HELP = "\nerror:"
"""Where the error of flatc begins, if it printed all its options before."""


def compile_schema(command: Sequence[Word], schema: Schema, log: Path) -> None:
    """Run a compiler on a schema, with its output in the log. Raises BuildError with the line of the first error."""
    run_compiler(command, schema, log, b"")


def run_compiler(command: Sequence[Word], schema: Schema, log: Path, given: bytes, about: str = "the schema") -> bytes:
    """Return the output of a compiler for an input. Raises BuildError with its first error about the schema or its
    values."""
    words = [str(word) for word in command]
    _write(log, f"$ {' '.join(words)}\n")
    try:
        done = subprocess.run(words, input=given, capture_output=True, check=False, cwd=schema.root)
    except OSError as cause:
        raise BuildError("E-NO-TOOL", f"{words[0]} does not start: {cause.strerror}", f"install {words[0]}") from cause
    said = (done.stderr or done.stdout).decode(errors="replace") if done.returncode != 0 else ""
    _write(log, said)
    if done.returncode != 0:
        said = said[max(0, said.find(AFTER_HELP)) :].strip()
        what = f"{words[0]} does not accept {about} of {schema.type}: {first_error(said)}"
        raise BuildError("E-SCHEMA", what, f"correct the line that {words[0]} names", said)
    return done.stdout


def first_error(said: str) -> str:
    """Return the first line of a compiler's output that names a place in a file, otherwise the last line."""
    lines = [line.strip().removeprefix("error:").strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if PLACE.search(line)), lines[-1] if lines else "it printed no reason")


def compile_library(command: Sequence[Word], schema: Schema, log: Path, cwd: Path) -> None:
    """Compile generated code, with all output in the log. Raises BuildError with the end of the log."""
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
        what = f"the generated code of {schema.type} does not compile (full log: {log})"
        raise BuildError("E-COMMAND-FAILED", what, "read the compiler's message", tail(log))


def _write(log: Path, text: str) -> None:
    with log.open("a") as sink:
        sink.write(text)
