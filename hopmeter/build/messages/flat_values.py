"""Choose the values of a message of FlatBuffers, as JSON; flatc describes the message as a JSON schema."""

from __future__ import annotations

from typing import Any

from hopmeter.build.messages import chosen_values as chosen

Table = dict[str, Any]
TYPE_OF_UNION = "_type"
"""The suffix of the field that names the member of a union."""
NO_MEMBER = "NONE"


class FlatValues:
    """Chooses values for the tables of a schema; lists of numbers have a given length."""

    def __init__(self, described: Table, length: int) -> None:
        self._tables: dict[str, Table] = described["definitions"]
        self._length = length

    def of(self, name: str) -> Table:
        """Return values for every field of a table. A field whose table contains itself stays empty, and so does a list
        of unions."""
        return self._table(name, (), 0)

    def _table(self, name: str, above: tuple[str, ...], at: int) -> Table:
        fields: dict[str, Table] = self._tables[name]["properties"]
        here = (*above, name)
        values: Table = {}
        for field, kind in fields.items():
            if kind.get("deprecated") or (field.endswith(TYPE_OF_UNION) and self._is_union_type(kind)):
                continue
            if "anyOf" in kind:
                values |= self._union(field, kind, fields, here)
            elif (value := self._value(field, kind, here, at)) is not None:
                values[field] = value
        return values

    def _is_union_type(self, kind: Table) -> bool:
        return NO_MEMBER in self._tables.get(_reference(kind), {}).get("enum", ())

    def _union(self, field: str, kind: Table, fields: dict[str, Table], above: tuple[str, ...]) -> Table:
        members = self._tables[_reference(fields[field + TYPE_OF_UNION])]["enum"][1:]
        for member, one in zip(members, kind["anyOf"], strict=False):
            if (name := _reference(one)) and name not in above:
                return {field + TYPE_OF_UNION: member, field: self._table(name, above, 0)}
        return {}

    def _value(self, field: str, kind: Table, above: tuple[str, ...], at: int) -> Any:
        if name := _reference(kind):
            return self._referenced_value(name, above, at)
        if kind["type"] == "array":
            return self._list(field, kind, above)
        if kind["type"] == "string":
            return chosen.text(field, at)
        if kind["type"] == "boolean":
            return at % 2 == 0
        return chosen.number(at) if kind["type"] == "number" else self._integer(kind, at)

    def _referenced_value(self, name: str, above: tuple[str, ...], at: int) -> Any:
        if "enum" in self._tables[name]:
            return self._tables[name]["enum"][-1]
        return None if name in above else self._table(name, above, at)

    def _list(self, field: str, kind: Table, above: tuple[str, ...]) -> Any:
        items = kind["items"]
        name = _reference(items)
        is_table = bool(name) and "enum" not in self._tables[name]
        if "anyOf" in items or (is_table and name in above):
            return None
        many = chosen.many(len(above)) if is_table else chosen.FEW if items.get("type") == "string" else self._length
        return [self._value(field, items, above, each) for each in range(kind.get("maxItems", many))]

    def _integer(self, kind: Table, at: int) -> int:
        least, most = kind.get("minimum", -(1 << 63)), kind.get("maximum", 1 << 63)
        if (least, most) == (0, 255):
            return chosen.byte(at)
        bits = (most - least).bit_length()
        return chosen.integer(at, 64 if bits > 33 else 32 if bits > 17 else 8)


def _reference(kind: Table) -> str:
    """Return the name of the table or enumeration that a field refers to; empty if it refers to none."""
    return str(kind.get("$ref", "")).removeprefix("#/definitions/")
