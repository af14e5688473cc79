"""Parses the types of a Protocol Buffers schema from protoc's descriptor set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hopmeter.build.command import BuildError
from hopmeter.schemas import Schema
from hopmeter.schemas.descriptors import Tree, describe
from hopmeter.system.toml_files import one_of


class Types:
    """The files, messages and enumerations of a schema. Types are keyed by their full names with a leading dot."""

    def __init__(self, files: list[Tree]) -> None:
        self.files = files
        self.messages: dict[str, Tree] = {}
        self.enums: dict[str, Tree] = {}
        self.homes: dict[str, str] = {}
        """The name of the file that defines each message."""
        for file in files:
            package, known = file.get("package", [""])[0], set(self.messages)
            self._add(f".{package}" if package else "", file.get("message_type", ()), file.get("enum_type", ()))
            self.homes |= {name: str(file["name"][0]) for name in self.messages.keys() - known}

    def _add(self, scope: str, messages: Any, enums: Any) -> None:
        self.enums |= {f"{scope}.{each['name'][0]}": each for each in enums}
        for each in messages:
            name = f"{scope}.{each['name'][0]}"
            self.messages[name] = each
            self._add(name, each.get("nested_type", ()), each.get("enum_type", ()))


def read_types(schema: Schema, described: bytes) -> Types:
    """Return a schema's types from its descriptor set.

    Raises BuildError if the descriptor set does not contain the schema's message.
    """
    types = Types(describe(described))
    if f".{schema.type}" not in types.messages or is_map_entry(types.messages[f".{schema.type}"]):
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
    """Return whether a message is a map entry, which protoc generates for map fields."""
    return any("true" in options.get("map_entry", ()) for options in message.get("options", ()))
