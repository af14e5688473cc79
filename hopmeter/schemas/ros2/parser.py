"""Parses the text of a ROS 2 `.msg` or `.srv` file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.schemas.ros2.definition import (
    INTEGERS,
    OCTETS,
    PLACEHOLDER,
    PRIMITIVES,
    SIZES,
    STRING,
    WIDE,
    Definition,
    Field,
    FieldType,
    is_service,
    parts_of,
)
from hopmeter.system.input_files import read_text

PACKAGE = r"[a-z](?:_?[a-z0-9])*"
TYPE_NAME = r"[A-Z][A-Za-z0-9]*"
LINE = re.compile(r"(?P<type>\S+)\s+(?P<name>[A-Za-z_]\w*)\s*(?P<rest>=?.*)")
TYPE = re.compile(r"(?P<base>[A-Za-z][\w/]*)(?:<=(?P<text>\d+))?(?P<list>\[(?P<bounded><=)?(?P<length>\d*)\])?")
NAME = re.compile(rf"(?:(?P<package>{PACKAGE})/(?:msg/)?)?(?P<type>{TYPE_NAME})")
FIELD = re.compile(r"(?!.*__)[a-z][a-z0-9_]*(?<!_)")
CONSTANT = re.compile(r"[A-Z](?:_?[A-Z0-9])*")
OPENS = " \t=[,"
"""The characters that may precede a text in quotation marks."""
ITEM = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,]*?)\s*(?:,|$)""")
BOOLS = {"true": True, "false": False, "1": True, "0": False}
OF_ROS1 = {"time": "builtin_interfaces/Time", "duration": "builtin_interfaces/Duration", "Header": "std_msgs/Header"}
"""The ROS 1 names of types that have only a full name in ROS 2."""
PARTS = "---"
"""The line that separates the parts of a service or an action."""
MOST_BYTES = 1 << 28
"""The maximum size of an array in bytes, which also limits the bounds of sequences."""


class _LineError(Exception):
    """Raised for an invalid line in a definition; the error states the reason and what the user can do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy


def read_definition(file: Path) -> str:
    """Return the text of a definition file. Raises UsageError if the file cannot be read."""
    try:
        return read_text(file)
    except OSError as cause:
        raise UsageError("E-FILE-UNREADABLE", f"{file} cannot be read: {cause.strerror}", "check the path") from cause
    except UnicodeDecodeError as cause:
        raise UsageError("E-SCHEMA", f"{file} is not a definition: it is not UTF-8", "save it as UTF-8") from cause


def parse_all(text: str, name: str, file: str) -> list[Definition]:
    """Return the definition of a message `PACKAGE/msg/TYPE`, or the definitions of the request and response of a
    service `PACKAGE/srv/TYPE`.

    Raises a UsageError that names `file` and the line if ROS 2 does not accept the text.
    """
    if not is_service(name):
        return [parse(text, name, file)]
    lines = text.splitlines()
    ends = [at for at, line in enumerate(lines) if line.strip() == PARTS]
    if len(ends) != 1:
        what = f"{file}: a service has one line {PARTS} between its request and its response, and this has {len(ends)}"
        raise UsageError("E-SCHEMA", what, f"write the fields of the request, {PARTS}, and those of the response")
    request, response = "\n".join(lines[: ends[0]]), "\n" * (ends[0] + 1) + "\n".join(lines[ends[0] + 1 :])
    return [parse(each, part, file) for each, part in zip((request, response), parts_of(name), strict=True)]


def parse(text: str, name: str, file: str) -> Definition:
    """Return the definition of one message from its text. Raises UsageError for text that ROS 2 does not accept."""
    package = name.partition("/")[0]
    fields: dict[str, Field] = {}
    for number, line in _lines(text):
        try:
            field = _parse_line(line, package, number)
            if field is not None and field.name in fields:
                raise _LineError(f"the field {field.name} occurs twice", "rename one of them")
        except _LineError as wrong:
            raise UsageError("E-SCHEMA", f"{file}:{number}: {wrong.what}: {line}", wrong.remedy) from wrong
        if field is not None:
            fields[field.name] = field
    return Definition(name, tuple(fields.values()) or (Field(PLACEHOLDER, FieldType("uint8"), 0),))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and content of each line, without comments; empty lines are skipped."""
    for number, line in enumerate(text.splitlines(), 1):
        if content := _without_comment(line).strip():
            yield number, content


def _without_comment(line: str) -> str:
    quote, before = "", " "
    for at, char in enumerate(line):
        if quote:
            quote = "" if char == quote and before != "\\" else quote
        elif char in "\"'" and before in OPENS:
            quote = char
        elif char == "#":
            return line[:at]
        before = char
    return line


def _parse_line(line: str, package: str, number: int) -> Field | None:
    """Return the field that a line defines, or None for a constant."""
    found = LINE.fullmatch(line)
    if found is None:
        raise _LineError(
            "this is no field", "write TYPE NAME, such as float64 speed, or TYPE NAME=VALUE for a constant"
        )
    kind, rest = _parse_type(found["type"], package), found["rest"].strip()
    if rest.startswith("="):
        _check_constant(kind, found["name"], rest[1:].strip())
        return None
    if not FIELD.fullmatch(found["name"]):
        remedy = "ROS 2 names fields in lower case, with digits and single underscores, such as wheel_speed"
        raise _LineError(f"the field name {found['name']} is not allowed", remedy)
    return Field(found["name"], kind, _parse_default(kind, rest) if rest else None, number)


def _parse_type(text: str, package: str) -> FieldType:
    found = TYPE.fullmatch(text)
    if found is None:
        raise _LineError(
            f"{text} is no type", "write a type such as float64, string<=20, uint8[<=100] or my_msgs/Wheel"
        )
    name, text_bound, length = _full_name(found["base"], package), int(found["text"] or 0), int(found["length"] or 0)
    if found["text"] is not None and (name not in (STRING, WIDE) or not text_bound):
        raise _LineError(f"{text} is no type", "only string and wstring have a bound, which is at least 1")
    if found["list"] and not length and (found["length"] or found["bounded"]):
        raise _LineError(f"{text} is no type", "a length or bound is at least 1; a sequence of any length is []")
    if length * SIZES.get(name, 4) > MOST_BYTES:
        raise _LineError(f"{text} is too long", f"write a length of at most {MOST_BYTES // SIZES.get(name, 4):,}")
    is_bounded = bool(found["bounded"])
    return FieldType(name, text_bound, bool(found["list"]), 0 if is_bounded else length, length if is_bounded else 0)


def _full_name(base: str, package: str) -> str:
    if base in PRIMITIVES:
        return base
    if base in OF_ROS1:
        raise _LineError(f"ROS 2 has no type {base}; only ROS 1 has this type", f"write {OF_ROS1[base]}")
    found = NAME.fullmatch(base)
    if found is None:
        raise _LineError(
            f"{base} is no type", f"write one of {', '.join(PRIMITIVES)}, or a message such as my_msgs/Wheel"
        )
    return f"{found['package'] or package}/msg/{found['type']}"


def _check_constant(kind: FieldType, name: str, text: str) -> None:
    if kind.is_list or kind.is_message:
        raise _LineError(f"a constant cannot have the type {kind.text}", "use a number, a bool or a string")
    if not CONSTANT.fullmatch(name):
        remedy = "ROS 2 names constants in upper case, with digits and single underscores, such as MODE_AUTO"
        raise _LineError(f"the constant name {name} is not allowed", remedy)
    parse_scalar(kind, text)


def _parse_default(kind: FieldType, text: str) -> Any:
    if kind.is_message:
        raise _LineError("a field that is a message has no default", "remove the text behind its name")
    if not kind.is_list:
        return parse_scalar(kind, text)
    if not (text.startswith("[") and text.endswith("]")):
        raise _LineError(f"the default of a list is a list, not {text}", "write it as [1, 2, 3]")
    inner = text[1:-1].strip()
    values = [parse_scalar(kind, each) for each in _items(inner)] if inner else []
    limit = kind.length or kind.bound
    if (kind.length and len(values) != kind.length) or (limit and len(values) > limit):
        raise _LineError(f"the default has {len(values)} values", f"give it {'' if kind.length else 'at most '}{limit}")
    return tuple(values)


def _items(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = ITEM.match(text, at)
        if found is None:
            raise _LineError(f"{text[at:]} is no value", "separate the values with commas")
        yield found[1]
        at = found.end()


def parse_scalar(kind: FieldType, text: str) -> Any:
    """Parse a text as a value of a primitive type."""
    if kind.name in (STRING, WIDE):
        value = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
        if kind.text_bound and len(value.encode()) > kind.text_bound:
            raise _LineError(f"{text} is longer than {kind.text_bound} bytes", "shorten it, or raise the bound")
        return value
    if kind.name == "bool":
        if text.lower() not in BOOLS:
            raise _LineError(f"{text} is no bool", "write true or false")
        return BOOLS[text.lower()]
    return _parse_number(kind.name, text)


def _parse_number(name: str, text: str) -> int | float:
    is_float = name.startswith("float")
    try:
        value = float(text) if is_float else int(text, 0 if text.lower().lstrip("+-").startswith("0x") else 10)
    except ValueError as cause:
        raise _LineError(f"{text} is no {name}", "write a number") from cause
    low, high = (-math.inf, math.inf) if is_float else limits(name)
    if not (math.isnan(value) or low <= value <= high):
        raise _LineError(f"{text} is no {name}", f"write a number from {low} to {high}")
    return value


def limits(name: str) -> tuple[int, int]:
    """Return the minimum and maximum of an integer type."""
    bits, has_sign = (8, False) if name in OCTETS else INTEGERS[name]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if has_sign else (0, (1 << bits) - 1)
