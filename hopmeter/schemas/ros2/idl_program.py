"""Reads an `.idl` file from stdin with ROS 2's rosidl_parser, and prints the definition's name and `.msg` or `.srv`
text. The program's arguments are the directories to search for the parser.
"""

from __future__ import annotations

import json
import sys
from typing import Any

sys.path.extend(sys.argv[1:])

from rosidl_parser import definition as idl  # type: ignore[import-not-found,unused-ignore]
from rosidl_parser.parser import parse_idl_string  # type: ignore[import-not-found,unused-ignore]

NAMES = {"float": "float32", "double": "float64", "boolean": "bool", "octet": "byte", "char": "char"}
WITHOUT = ("wchar", "long double")
PLACEHOLDER = "structure_needs_at_least_one_member"


class RefusedError(Exception):
    """Raised if the definition contains a construct that `.msg` files cannot express."""


class Text:
    """Builds the `.msg` or `.srv` text of a definition from the fields of the definition's structures."""

    def __init__(self, content: Any) -> None:
        messages = content.get_elements_of_type(idl.Message)
        services = content.get_elements_of_type(idl.Service)
        constants = [each for message in messages for each in message.constants]
        constants += [
            each for one in services for part in (one.request_message, one.response_message) for each in part.constants
        ]
        self._constants = {each.name: each.value for each in constants}
        if len(messages) + len(services) != 1:
            raise RefusedError("it defines no message and no service, or more than one; actions are not read")
        if messages:
            self.kind, parts = messages[0].structure.namespaced_type, [messages[0]]
        else:
            self.kind, parts = services[0].namespaced_type, [services[0].request_message, services[0].response_message]
        self.text = "---\n".join("".join(self._lines(part.structure)) for part in parts)

    def _lines(self, structure: Any) -> Any:
        for member in structure.members:
            if any(each.name == "optional" for each in member.annotations):
                raise RefusedError(f"{member.name} is @optional, which .msg files do not have")
            if member.name != PLACEHOLDER:
                yield f"{self._type(member.type)} {member.name} {self._default(member)}".rstrip() + "\n"

    def _type(self, kind: Any) -> str:
        if isinstance(kind, idl.Array):
            return f"{self._one(kind.value_type)}[{self._number(kind.size)}]"
        if isinstance(kind, idl.BoundedSequence):
            return f"{self._one(kind.value_type)}[<={self._number(kind.maximum_size)}]"
        if isinstance(kind, idl.AbstractSequence):
            return f"{self._one(kind.value_type)}[]"
        return self._one(kind)

    def _one(self, kind: Any) -> str:
        if isinstance(kind, idl.AbstractGenericString):
            word = "wstring" if isinstance(kind, idl.AbstractWString) else "string"
            is_bounded = isinstance(kind, (idl.BoundedString, idl.BoundedWString))
            return f"{word}<={self._number(kind.maximum_size)}" if is_bounded else word
        if isinstance(kind, idl.NamespacedType):
            return "/".join((kind.namespaces[0], kind.name))
        if not isinstance(kind, idl.BasicType):
            raise RefusedError(f"the type {getattr(kind, 'name', kind)} is not defined here; write PACKAGE::msg::TYPE")
        if kind.typename in WITHOUT:
            raise RefusedError(f"a field has the type {kind.typename}, which hopmeter does not support")
        return NAMES.get(kind.typename, str(kind.typename))

    def _number(self, given: Any) -> Any:
        return self._constants.get(given, given)

    def _default(self, member: Any) -> str:
        found = [each.value["value"] for each in member.annotations if each.name == "default"]
        if not found:
            return ""
        value = found[0]
        if isinstance(member.type, idl.AbstractNestedType):  # rosidl_adapter writes a list as the text of a tuple
            return "[" + str(value).strip("()").rstrip(", ") + "]"
        if isinstance(value, bool) or not isinstance(value, str):
            return str(value).lower() if isinstance(value, bool) else str(value)
        return f"'{value}'" if '"' in value else f'"{value}"'


def main() -> int:
    """Print the definition, or the reason for rejecting it, as JSON, and return the exit code."""
    try:
        found = Text(parse_idl_string(sys.stdin.read()))
    except RefusedError as refused:
        print(refused, file=sys.stderr)
        return 1
    except Exception as wrong:  # noqa: BLE001 (the parser passes on any error of its libraries)
        said = str(wrong).strip().splitlines() or [type(wrong).__name__]
        print(f"rosidl_parser does not accept it: {said[0]}", file=sys.stderr)
        return 1
    json.dump({"name": "/".join([*found.kind.namespaces, found.kind.name]), "text": found.text}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
