"""Chooses the values of a Protocol Buffers message, and writes them in text format."""

from __future__ import annotations

from collections.abc import Iterator

from hopmeter.build.messages import chosen_values as chosen
from hopmeter.build.messages.descriptors import Types, is_map_entry
from hopmeter.schemas.descriptors import Tree


def proto_values(types: Types, name: str, length: int) -> str:
    """Return values for a message's fields. Lists of numbers and byte strings have the given length.

    Fields with a recursive type get no value. Only the first field of a `oneof` has a value.
    """
    return "\n".join(_message(types, f".{name}", length, ())) + "\n"


def _message(types: Types, name: str, length: int, above: tuple[str, ...], at: int = 0) -> Iterator[str]:
    alternatives: set[str] = set()
    for field in types.messages[name].get("field", ()):
        choice = field.get("oneof_index", [""])[0]
        if choice and choice in alternatives:
            continue
        alternatives.add(choice)
        yield from _field(types, field, length, (*above, name), at)


def _field(types: Types, field: Tree, length: int, above: tuple[str, ...], at: int) -> Iterator[str]:
    name, kind = field["name"][0], field["type"][0].removeprefix("TYPE_")
    repeated = field["label"][0] == "LABEL_REPEATED"
    if kind in ("MESSAGE", "GROUP"):
        yield from _messages(types, field, length, above, at, repeated)
    elif repeated:
        many = chosen.FEW if kind in ("STRING", "BYTES") else length
        values = (_scalar(types, field, kind, length, each) for each in range(many))
        yield f"{name}: [{', '.join(values)}]"
    else:
        yield f"{name}: {_scalar(types, field, kind, length, at)}"


def _messages(types: Types, field: Tree, length: int, above: tuple[str, ...], at: int, repeated: bool) -> Iterator[str]:
    inner = field["type_name"][0]
    if inner in above or _is_map_of_full(types, inner, above):
        return
    # In the text format, a group is written under the name of its type.
    name = inner.rpartition(".")[2] if field["type"][0] == "TYPE_GROUP" else field["name"][0]
    for each in range(chosen.many(len(above))) if repeated else [at]:
        yield f"{name} {{"
        yield from (f"  {line}" for line in _message(types, inner, length, above, each))
        yield "}"


def _is_map_of_full(types: Types, entry: str, above: tuple[str, ...]) -> bool:
    """Return whether a type is a map entry whose value has a recursive type with required fields."""
    tree = types.messages[entry]
    named = (field.get("type_name", [""])[0] for field in (tree["field"] if is_map_entry(tree) else ()))
    return any(name in above and _needs_values(types.messages[name]) for name in named)


def _needs_values(message: Tree) -> bool:
    return any(field["label"][0] == "LABEL_REQUIRED" for field in message.get("field", ()))


def _scalar(types: Types, field: Tree, kind: str, length: int, at: int) -> str:
    if kind in ("DOUBLE", "FLOAT"):
        return str(chosen.number(at))
    if kind == "BOOL":
        return "false" if at % 2 else "true"
    if kind == "STRING":
        return f'"{chosen.text(field["name"][0], at)}"'
    if kind == "BYTES":
        return '"' + "".join(f"\\{chosen.byte(at + each):03o}" for each in range(length)) + '"'
    if kind == "ENUM":
        return str(types.enums[field["type_name"][0]]["value"][-1]["name"][0])
    return str(chosen.integer(at, 64 if kind.endswith("64") else 32))
