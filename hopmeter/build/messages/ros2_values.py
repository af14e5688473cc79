"""Chooses the values of a ROS 2 message, or reads them from a user's YAML file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopmeter.build.command import BuildError
from hopmeter.build.messages import chosen_values as chosen
from hopmeter.codecs.lookup import import_package
from hopmeter.schemas.payload import MOST_LENGTH
from hopmeter.schemas.ros2.definition import (
    INTEGERS,
    OCTETS,
    REQUEST,
    RESPONSE,
    STRING,
    WIDE,
    Definition,
    Field,
    FieldType,
)
from hopmeter.schemas.ros2.parser import limits
from hopmeter.schemas.ros2.wide_texts import code_units
from hopmeter.system.input_files import read_text

Definitions = Mapping[str, Definition]
Values = dict[str, Any]
"""The value of each field of a message: a number, a bool, a string, a nested message, or a list of these."""
HEADER, TIME = "std_msgs/msg/Header", "builtin_interfaces/msg/Time"
STAMP = {"sec": chosen.STAMP_NS // 10**9, "nanosec": chosen.STAMP_NS % 10**9}
"""The time that `now` and `auto` stand for, which is the same in every run."""
TEXTS = (STRING, WIDE)
PARTS = re.compile(r"^---[ \t]*$", re.MULTILINE)
"""The separator line between a service's request values and response values."""
ITEMS = "!items"
"""The YAML tag for a list length. hopmeter chooses the values of such a list."""


class _Items(int):
    """The length of a list whose values hopmeter chooses."""


def choose_values(definitions: Definitions, name: str, length: int, depth: int = 0, at: int = 0) -> Values:
    """Return values for every field of a message.

    A sequence of numbers has the given length, unless its bound is smaller.
    """
    return {field.name: _choose_field(definitions, field, length, depth, at) for field in definitions[name].fields}


def _choose_field(definitions: Definitions, field: Field, length: int, depth: int, at: int) -> Any:
    kind = field.type
    if not kind.is_list:
        return _choose_one(definitions, field, length, depth, at)
    many = chosen.many(depth) if kind.is_message else chosen.FEW if kind.name in TEXTS else length
    count = kind.length or min(many, kind.bound or many)
    return [_choose_one(definitions, field, length, depth, each) for each in range(count)]


def _choose_one(definitions: Definitions, field: Field, length: int, depth: int, at: int) -> Any:
    kind = field.type
    if kind.is_message:
        return dict(STAMP) if kind.name == TIME else choose_values(definitions, kind.name, length, depth + 1, at)
    if kind.name in TEXTS:
        return chosen.text(field.name, at)[: kind.text_bound or None]
    if kind.name == "bool":
        return at % 2 == 0
    if kind.name not in INTEGERS:
        return chosen.byte(at) if kind.name in OCTETS else chosen.number(at)
    bits, has_sign = INTEGERS[kind.name]
    return chosen.byte(at) if kind.name == "uint8" else chosen.integer(at, bits, has_sign)


def read_values(definitions: Definitions, name: str, file: Path) -> Values:
    """Return the values in a YAML file, in the format of `ros2 topic pub`. A field that the file omits gets its default
    value.

    For a service, the file contains the request values, a line `---`, and the response values. Raises BuildError for an
    unknown field or an invalid value.
    """
    return Reader(definitions, file).message(name, _load(name, file), "")


def _text_of(name: str, file: Path) -> str:
    """Return the part of a file that contains a message's values."""
    if not name.endswith((REQUEST, RESPONSE)):
        return read_text(file)
    parts = PARTS.split(read_text(file))
    if len(parts) > 2:
        what = f"the values in {file} have {len(parts)} parts, but a service needs two"
        raise BuildError("E-SCHEMA", what, "write the values of the request, then ---, then the values of the response")
    return parts[name.endswith(RESPONSE)] if len(parts) == 2 or name.endswith(REQUEST) else ""


def _load(name: str, file: Path) -> Any:
    yaml = import_package("yaml", "cdr")
    loader: Any = type("Loader", (yaml.SafeLoader,), {"__doc__": "Reads plain data, and numbers of values."})
    loader.add_constructor(ITEMS, lambda reader, node: _Items(reader.construct_yaml_int(node)))
    try:
        return yaml.load(_text_of(name, file), loader)
    except (yaml.YAMLError, ValueError, RecursionError) as cause:
        raise BuildError("E-SCHEMA", f"the values in {file} are not valid YAML: {cause}", "correct the file") from cause


class Reader:
    """Validates the values in a user's YAML file against the message definitions."""

    def __init__(self, definitions: Definitions, file: Path) -> None:
        self._definitions = definitions
        self._file = file

    def message(self, name: str, given: Any, path: str) -> Values:
        """Return a message's values, validated and completed with defaults. Error messages use `path` to state where in
        the file an invalid value is."""
        given = _expand_words(name, given)
        if not isinstance(given, dict):
            raise self._wrong(path, f"{name} is a mapping of fields, not {_excerpt(given)}", "write {field: value, …}")
        fields = {field.name: field for field in self._definitions[name].fields}
        if unknown := next((key for key in given if key not in fields), None):
            raise self._wrong(
                f"{path}.{unknown}".lstrip("."), f"{name} has no such field", f"it has {', '.join(fields)}"
            )
        return {key: self._field(field, given.get(key), f"{path}.{key}".lstrip(".")) for key, field in fields.items()}

    def _field(self, field: Field, given: Any, path: str) -> Any:
        kind = field.type
        if given is None:
            return self._default(field)
        if not kind.is_list:
            return self._one(kind, given, path)
        if isinstance(given, _Items):
            return self._choose(field, given, path)
        values = list(given) if isinstance(given, bytes) else given
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise self._wrong(path, f"it is a list of {kind.name}, not {_excerpt(given)}", "write [value, …]")
        self._check_length(kind, len(values), path)
        return [self._one(kind, value, f"{path}[{at}]") for at, value in enumerate(values)]

    def _choose(self, field: Field, many: int, path: str) -> Any:
        self._check_length(field.type, many, path)
        return [_choose_one(self._definitions, field, chosen.FEW, 1, at) for at in range(many)]

    def _check_length(self, kind: FieldType, many: int, path: str) -> None:
        limit = kind.length or kind.bound
        if (kind.length and many != kind.length) or not 0 <= many <= (limit or MOST_LENGTH):
            wanted = f"exactly {limit}" if kind.length else f"at most {limit or MOST_LENGTH:,}"
            raise self._wrong(path, f"it has {many:,} values", f"give it {wanted}")

    def _default(self, field: Field) -> Any:
        kind = field.type
        if field.default is not None:
            return list(field.default) if kind.is_list else field.default
        if kind.is_list:
            return [self._zero(kind) for _ in range(kind.length)]
        return self._zero(kind)

    def _zero(self, kind: FieldType) -> Any:
        if kind.is_message:
            return self.message(kind.name, {}, "")
        return "" if kind.name in TEXTS else False if kind.name == "bool" else 0.0 if _is_float(kind) else 0

    def _one(self, kind: FieldType, given: Any, path: str) -> Any:
        if kind.is_message:
            return self.message(kind.name, given, path)
        if kind.name in TEXTS:
            return self._text(kind, given, path)
        if kind.name == "bool":
            if isinstance(given, bool):
                return given
            raise self._wrong(path, f"{_excerpt(given)} is not a bool", "write true or false")
        return self._number(kind, given, path)

    def _text(self, kind: FieldType, given: Any, path: str) -> str:
        if not isinstance(given, str) or "\0" in given:
            raise self._wrong(path, f"{_excerpt(given)} is not a text that ROS 2 allows", 'write it in quotes: "text"')
        length, unit = (
            (len(code_units(given)), "UTF-16 code units") if kind.name == WIDE else (len(given.encode()), "bytes")
        )
        if kind.text_bound and length > kind.text_bound:
            raise self._wrong(path, f"the text has {length:,} {unit}", f"give it at most {kind.text_bound}")
        return given

    def _number(self, kind: FieldType, given: Any, path: str) -> int | float:
        if isinstance(given, str) and _is_float(kind):  # YAML 1.1 reads 1e3 as a string
            given = _parsed_float(given)
        if isinstance(given, bool) or not isinstance(given, (int, float) if _is_float(kind) else int):
            raise self._wrong(path, f"{_excerpt(given)} is not a valid {kind.name}", "write a number")
        if _is_float(kind):
            return self._float(kind, float(given), path)
        low, high = limits(kind.name)
        if not low <= given <= high:
            raise self._wrong(path, f"{given} does not fit {kind.name}", f"write a number from {low} to {high}")
        return int(given)

    def _float(self, kind: FieldType, value: float, path: str) -> float:
        if kind.name == "float32" and math.isfinite(value) and abs(value) > MOST_FLOAT32:
            raise self._wrong(path, f"{value} does not fit float32", "write a smaller number, or .inf")
        return value

    def _wrong(self, path: str, what: str, remedy: str) -> BuildError:
        return BuildError("E-SCHEMA", f"{self._file.name}: {path or 'the values'}: {what}", remedy)


MOST_FLOAT32 = 3.4028235677973366e38
"""The smallest number that rounds to infinity as a float32."""


def _is_float(kind: FieldType) -> bool:
    return kind.name.startswith("float")


def _expand_words(name: str, given: Any) -> Any:
    """Expand `auto` for a header and `now` for a time as `ros2 topic pub` does, and return all values."""
    if name == HEADER and given == "auto":
        return {"stamp": dict(STAMP)}
    return dict(STAMP) if name == TIME and given == "now" else {} if given is None else given


def _parsed_float(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _excerpt(given: Any) -> str:
    return repr(given)[:60]
