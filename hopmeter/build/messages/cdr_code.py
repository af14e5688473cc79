"""Generates C++ and Rust structs for ROS 2 messages.

An underscore is appended to each field name, so that no field name is a keyword.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hopmeter.schemas.ros2.definition import INTEGERS, SIZES, STRING, Definition, Field, FieldType

Definitions = Mapping[str, Definition]
CPP = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    "byte": "uint8_t",
    "char": "uint8_t",
    STRING: "std::string",
}
RUST = {"bool": "bool", "float32": "f32", "float64": "f64", "byte": "u8", "char": "u8", STRING: "String"}
CPP |= {name: f"{name}_t" for name in INTEGERS}
RUST |= {name: name.replace("uint", "u").replace("int", "i") for name in INTEGERS}
SERDE_ARRAY = 32
"""The length of the longest array that serde itself supports."""
BYTES = ("uint8", "byte", "char")
LENGTH_BYTES = 4


def struct_name(name: str) -> str:
    """Return the struct name of a message."""
    return name.replace("/", "__")


def cpp_code(definitions: Definitions, name: str) -> str:
    """Return a message's C++ header.

    The C++ header defines a struct for each message definition, and `Message` as an alias for the message's struct.
    """
    structs = "\n".join(line for each in definitions.values() for line in _cpp_struct(definitions, each))
    includes = "\n".join(f"#include <{each}>" for each in ("array", "cstddef", "cstdint", "string", "vector"))
    # The namespace is anonymous, so that one program can contain several versions of a message.
    return f"{includes}\n\nnamespace {{\n{structs}\nusing Message = {struct_name(name)};\n}}\n"


def _cpp_struct(definitions: Definitions, definition: Definition) -> Iterator[str]:
    yield f"struct {struct_name(definition.name)} {{"
    yield f"  static constexpr std::size_t kLeastBytes = {least_bytes(definitions, definition)};"
    yield from (f"  {_cpp_type(field.type)} {field.name}_{{}};" for field in definition.fields)
    yield "  template <class Self, class Visit>"
    yield "  static void visit(Self& self, Visit& visit) {"
    yield from (f"    visit(self.{field.name}_{_cpp_bounds(field.type)});" for field in definition.fields)
    yield "  }"
    yield "};"


def _cpp_type(kind: FieldType) -> str:
    one = struct_name(kind.name) if kind.is_message else CPP[kind.name]
    if not kind.is_list:
        return one
    return f"std::array<{one}, {kind.length}>" if kind.length else f"std::vector<{one}>"


def _cpp_bounds(kind: FieldType) -> str:
    if kind.bound:
        return f", {kind.text_bound}, {kind.bound}"
    return f", {kind.text_bound}" if kind.text_bound else ""


def least_bytes(definitions: Definitions, definition: Definition) -> int:
    """Return the minimum encoded size of a message in bytes, without padding."""
    return sum(_least_bytes(definitions, field.type) for field in definition.fields)


def _least_bytes(definitions: Definitions, kind: FieldType) -> int:
    if kind.is_list and not kind.length:
        return LENGTH_BYTES
    one = least_bytes(definitions, definitions[kind.name]) if kind.is_message else SIZES.get(kind.name, LENGTH_BYTES)
    return one * (kind.length or 1)


def rust_code(definitions: Definitions, name: str) -> str:
    """Return a message's Rust module.

    The Rust module defines a struct for each message definition, and `Message` as an alias for the message's struct.
    """
    structs = "\n".join(line for each in definitions.values() for line in _rust_struct(definitions, each))
    return f"use serde::{{Deserialize, Serialize}};\n\n{structs}\npub type Message = {struct_name(name)};\n"


def _rust_struct(definitions: Definitions, definition: Definition) -> Iterator[str]:
    yield "#[derive(Serialize, Deserialize)]"
    yield f"pub struct {struct_name(definition.name)} {{"
    for field in definition.fields:
        yield from (f"    {line}" for line in (*_serde(field.type), f"pub {field.name}_: {_rust_type(field.type)},"))
    yield "}"
    yield f"impl {struct_name(definition.name)} {{"
    yield "    /// Returns whether no text and no sequence is longer than its bound."
    checks = [check for field in definition.fields for check in _rust_checks(definitions, field)]
    yield f"    pub fn fits(&self) -> bool {{ {' && '.join(checks) or 'true'} }}"
    yield "}"


def _serde(kind: FieldType) -> Iterator[str]:
    if kind.name in BYTES and kind.is_list and not kind.length:
        yield '#[serde(with = "serde_bytes")]'
    elif kind.length > SERDE_ARRAY:
        yield '#[serde(with = "serde_big_array::BigArray")]'


def _rust_type(kind: FieldType) -> str:
    one = struct_name(kind.name) if kind.is_message else RUST[kind.name]
    if not kind.is_list:
        return one
    return f"[{one}; {kind.length}]" if kind.length else f"Vec<{one}>"


def _rust_checks(definitions: Definitions, field: Field) -> Iterator[str]:
    kind, value = field.type, f"self.{field.name}_"
    if kind.bound:
        yield f"{value}.len() <= {kind.bound}"
    if kind.text_bound:
        check = f"each.len() <= {kind.text_bound}"
        yield f"{value}.iter().all(|each| {check})" if kind.is_list else check.replace("each", value)
    elif kind.is_message and has_bounds(definitions, definitions[kind.name]):
        yield f"{value}.iter().all(|each| each.fits())" if kind.is_list else f"{value}.fits()"


def has_bounds(definitions: Definitions, definition: Definition) -> bool:
    """Return whether a message, or any nested message, has a bounded string or sequence."""
    kinds = [field.type for field in definition.fields]
    return any(
        kind.bound or kind.text_bound or (kind.is_message and has_bounds(definitions, definitions[kind.name]))
        for kind in kinds
    )
