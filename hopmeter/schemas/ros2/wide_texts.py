"""Replaces wstring fields with nested messages whose CDR encoding is identical.

ROS 2 encodes a wstring like a list of integers: first the number of UTF-16 code units, then each code unit in 32 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hopmeter.schemas.ros2.definition import WIDE, Definition, Field, FieldType

NAME = "hopmeter/msg/WideText"
UNITS = "units"


def replace_wide_texts(definitions: Mapping[str, Definition]) -> dict[str, Definition]:
    """Return the definitions after replacing each wstring with a message that contains the wstring's code units.

    The definitions of the new messages come first, followed by the given definitions in unchanged order.
    """
    wide: dict[str, Definition] = {}
    found = {name: _replace_in(each, wide) for name, each in definitions.items()}
    return wide | found


def _replace_in(definition: Definition, wide: dict[str, Definition]) -> Definition:
    return replace(definition, fields=tuple(_replace_field(field, wide) for field in definition.fields))


def _replace_field(field: Field, wide: dict[str, Definition]) -> Field:
    kind = field.type
    if kind.name != WIDE:
        return field
    name = f"{NAME}{kind.text_bound or ''}"
    wide[name] = Definition(name, (Field(UNITS, FieldType("uint32", is_list=True, bound=kind.text_bound)),))
    return replace(field, type=replace(kind, name=name, text_bound=0))


def code_units(text: str) -> list[int]:
    """Return the UTF-16 code units of a string."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(encoded[at : at + 2], "little") for at in range(0, len(encoded), 2)]
