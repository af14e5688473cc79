"""Reads a Protocol Buffers schema from its descriptor set, which protoc prints in text format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hopmeter.schemas.compilers import COMPILERS, Word, run_words

PROTOC = COMPILERS["protobuf"]
Tree = dict[str, list[Any]]
"""A message in the text format. Each field has a list of values, which are strings or nested messages."""


def search_words(search: Sequence[Path]) -> list[Word]:
    """Return the protoc options that name the import directories."""
    return [f"-I{folder}" for folder in search]


def describe(described: bytes) -> list[Tree]:
    """Return the files in an encoded descriptor set. Each returned file follows all files that it imports."""
    command = [PROTOC, "--decode=google.protobuf.FileDescriptorSet", "google/protobuf/descriptor.proto"]
    text = run_words(command, Path.cwd(), described).stdout.decode()
    return parse_text(text).get("file", [])


def compile_set(file: Path, search: Sequence[Path]) -> tuple[bytes, list[Path], bytes]:
    """Return a schema's descriptor set with imports, the paths of all files in the set, and an empty error text.

    If protoc rejects the schema, return an empty set, no paths and protoc's error text.
    """
    with TemporaryDirectory() as folder:
        target, rule = Path(folder) / "set", Path(folder) / "rule"
        outputs = ["--include_imports", f"--descriptor_set_out={target}", f"--dependency_out={rule}"]
        done = run_words([PROTOC, *search_words(search), *outputs, file], file.parent)
        if done.returncode != 0:
            return b"", [], done.stderr or done.stdout or b"it printed no reason"
        # The dependency file is a make rule: the target, a colon, and one path per line.
        listed = rule.read_text().removeprefix(f"{target}:").split("\\\n")
        return target.read_bytes(), [Path(each.strip()) for each in listed], b""


def parse_text(text: str) -> Tree:
    """Parse Protocol Buffers text that protoc has printed with one field per line."""
    tree: Tree = {}
    stack = [tree]
    for line in map(str.strip, text.splitlines()):
        if line.endswith("{"):
            inner: Tree = {}
            stack[-1].setdefault(line[:-1].strip(), []).append(inner)
            stack.append(inner)
        elif line == "}":
            stack.pop()
        else:
            name, _, value = line.partition(": ")
            stack[-1].setdefault(name, []).append(_unquote(value))
    return tree


def _unquote(value: str) -> str:
    """Return a value without its quotes. protoc writes non-ASCII bytes as octal escapes."""
    text = value[1:-1] if value.startswith('"') else value
    if "\\" not in text:
        return text
    return text.encode("ascii").decode("unicode_escape").encode("latin-1").decode(errors="replace")
