"""Read a schema of Protocol Buffers: protoc describes it as a message of its own, in the text format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hopmeter.build.command import BuildError
from hopmeter.build.messages.compilers import run_compiler
from hopmeter.schemas import Schema
from hopmeter.system.toml_files import one_of

Tree = dict[str, list[Any]]
"""A message in the text format: the values of each field, texts or trees."""


class Types:
    """The messages and enumerations of a schema, by full name with a leading dot."""

    def __init__(self, files: list[Tree]) -> None:
        self.messages: dict[str, Tree] = {}
        self.enums: dict[str, Tree] = {}
        self.homes: dict[str, tuple[str, str]] = {}
        """The file and the package of each message."""
        for file in files:
            package, known = file.get("package", [""])[0], set(self.messages)
            self._add(f".{package}" if package else "", file.get("message_type", ()), file.get("enum_type", ()))
            self.homes |= dict.fromkeys(self.messages.keys() - known, (file["name"][0], package))

    def _add(self, scope: str, messages: Any, enums: Any) -> None:
        self.enums |= {f"{scope}.{each['name'][0]}": each for each in enums}
        for each in messages:
            name = f"{scope}.{each['name'][0]}"
            self.messages[name] = each
            self._add(name, each.get("nested_type", ()), each.get("enum_type", ()))


def read_types(schema: Schema, folder: Path, log: Path) -> Types:
    """Return the types of a schema. Raises BuildError if protoc rejects it, or if it lacks the message."""
    described = folder / "schema.desc"
    run_compiler(
        ["protoc", f"-I{schema.root}", "--include_imports", f"--descriptor_set_out={described}", schema.file],
        schema,
        log,
        b"",
    )
    decode = ["protoc", "--decode=google.protobuf.FileDescriptorSet", "google/protobuf/descriptor.proto"]
    text = run_compiler(decode, schema, log, described.read_bytes())
    types = Types(parse_text(text.decode()).get("file", []))
    if f".{schema.type}" not in types.messages:
        known = [name[1:] for name in _own_messages(types)]
        raise BuildError(
            "E-SCHEMA-TYPE", f"{schema.file.name}: message {one_of(schema.type, known)}", "name one of its messages"
        )
    return types


def _own_messages(types: Types) -> Iterator[str]:
    for name, tree in types.messages.items():
        if not name.startswith(".google.protobuf.") and not is_map_entry(tree):
            yield name


def is_map_entry(message: Tree) -> bool:
    """Return whether a message is the entry of a map, which has no name in the schema."""
    return any("true" in options.get("map_entry", ()) for options in message.get("options", ()))


def parse_text(text: str) -> Tree:
    """Parse the text format of Protocol Buffers, one field in each line, as protoc writes it."""
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
            stack[-1].setdefault(name, []).append(value.strip('"'))
    return tree
