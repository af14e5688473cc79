"""Chooses the values of a FlatBuffers message, as JSON."""

from __future__ import annotations

from typing import Any

from hopmeter.build.messages import chosen_values as chosen
from hopmeter.build.messages.flat_types import Description, FlatTypes

Table = dict[str, Any]
TYPE_OF_UNION = "_type"
"""The suffix of the name of the field that states the type of a union's value."""
TYPE, BOOL, UBYTE = 1, 2, 4
INT, UINT, LONG, ULONG, FLOAT, DOUBLE = range(7, 13)
STRING, VECTOR, OBJECT, UNION, ARRAY = range(13, 18)
"""flatc's numbers for field types. TYPE is the type of a field that states the type of a union's value."""
BITS = {LONG: 64, ULONG: 64, INT: 32, UINT: 32}
"""The widths of integer types in bits. Any other integer type gets an 8-bit value."""
OWN_FORMS = ("nested_flatbuffer", "flexbuffer")
"""The attributes of byte fields that contain a separate message."""


class FlatValues:
    """Chooses values for a schema's tables. Lists of numbers have `length` items."""

    def __init__(self, types: FlatTypes, length: int) -> None:
        self._types = types
        self._length = length

    def of(self, name: str) -> Table:
        """Return values for the fields of a table.

        Recursive tables, lists of unions, and byte fields that contain a separate message are omitted.
        """
        return self._values(next(each for each in self._types.objects if each["name"] == name), (), 0)

    def _values(self, described: Description, above: tuple[str, ...], at: int) -> Table:
        here = (*above, described["name"])
        values: Table = {}
        for field in sorted(described.get("fields", ()), key=lambda field: field.get("id", 0)):
            if not field.get("deprecated") and not _has_own_form(field):
                values |= self._field(field["name"], field["type"], here, at)
        return values

    def _field(self, name: str, kind: Description, above: tuple[str, ...], at: int) -> Table:
        if kind["base_type"] == UNION:
            return self._union(name, kind, above)
        value = (
            self._list(name, kind, above)
            if kind["base_type"] in (VECTOR, ARRAY)
            else self._value(name, kind["base_type"], kind, above, at)
        )
        return {} if value is None else {name: value}

    def _union(self, name: str, kind: Description, above: tuple[str, ...]) -> Table:
        for member in self._types.enums[kind["index"]]["values"]:
            one = member.get("union_type", {})
            if one.get("base_type") in (OBJECT, STRING):
                value = self._value(name, one["base_type"], one, above, 0)
                if value is not None:
                    return {name + TYPE_OF_UNION: member["name"], name: value}
        return {}

    def _value(self, name: str, base: int, kind: Description, above: tuple[str, ...], at: int) -> Any:
        """Return the value of a field or list item, or None if the field or item is omitted."""
        if base == OBJECT:
            described = self._types.objects[kind["index"]]
            return None if described["name"] in above else self._values(described, above, at)
        if base in (TYPE, UNION):
            return None
        if kind.get("index", -1) >= 0:
            return self._types.enums[kind["index"]]["values"][-1]["name"]
        return chosen.text(name, at) if base == STRING else _number(base, at)

    def _list(self, name: str, kind: Description, above: tuple[str, ...]) -> Any:
        element, fixed = kind["element"], kind.get("fixed_length", 0)
        many = chosen.many(len(above)) if element == OBJECT else chosen.FEW if element == STRING else self._length
        values = [self._value(name, element, kind, above, each) for each in range(fixed or many)]
        return None if None in values else values


def _has_own_form(field: Description) -> bool:
    return any(pair["key"] in OWN_FORMS for pair in field.get("attributes", ()))


def _number(base: int, at: int) -> bool | float | int:
    if base == BOOL:
        return at % 2 == 0
    if base in (FLOAT, DOUBLE):
        return chosen.number(at)
    return chosen.byte(at) if base == UBYTE else chosen.integer(at, BITS.get(base, 8))
