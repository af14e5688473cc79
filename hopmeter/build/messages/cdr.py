"""Builds codec libraries for ROS 2 messages. CDR libraries, such as Fast CDR and cdr-encoding, encode the generated
structs."""

from __future__ import annotations

import json
from pathlib import Path

from hopmeter.build.command import BuildError
from hopmeter.build.messages.cdr_code import cpp_code, rust_code
from hopmeter.build.messages.check import ENCODED
from hopmeter.build.messages.compilers import compile_library
from hopmeter.build.messages.cpp import library_command
from hopmeter.build.messages.ros2_values import choose_values, read_values
from hopmeter.build.messages.rust import build_crate
from hopmeter.node.payloads.cdr_messages import make_message, type_store
from hopmeter.schemas import Schema
from hopmeter.schemas.library import DEFINITIONS, GENERATED, LIBRARY, OBJECT, REPLY
from hopmeter.schemas.ros2.definition import REQUEST, RESPONSE, Definition
from hopmeter.schemas.ros2.files import order, read_definitions
from hopmeter.schemas.ros2.wide_texts import replace_wide_texts

HEADER = "messages.hpp"
CRATES = {
    "byteorder": '"1"',
    "cdr-encoding": '"0.11"',
    "serde": '{ version = "1", features = ["derive"] }',
    "serde-big-array": '"0.5"',
    "serde_bytes": '"0.11"',
}
RUST = """#[allow(warnings)]
mod generated;
type Message = generated::Message;"""


def write_object(schema: Schema, folder: Path, _log: Path) -> None:
    """Write the message definitions and the encoded object to a directory.

    For a service, both the encoded request and the encoded response are written.
    """
    definitions = _sent_definitions(schema)
    (folder / DEFINITIONS).write_text(json.dumps([each.as_json() for each in definitions.values()]))
    (folder / OBJECT).write_bytes(_make_object(schema, schema.type))
    if schema.type.endswith(REQUEST):
        (folder / REPLY).write_bytes(_make_object(schema, schema.type.removesuffix(REQUEST) + RESPONSE))


def _make_object(schema: Schema, name: str) -> bytes:
    """Return the encoded message of a schema, filled with the values to send."""
    definitions = ordered_definitions(schema, name)
    if isinstance(schema.values, Path):
        return encode_values(definitions, name, read_values(definitions, name, schema.values))
    return encode_values(definitions, name, choose_values(definitions, name, schema.values))


def ordered_definitions(schema: Schema, name: str = "") -> dict[str, Definition]:
    """Return a message's definition, preceded by the definitions of all messages that it contains. By default, the
    message is the schema's own message."""
    return {each.name: each for each in order(read_definitions(schema.imports.files), name or schema.type)}


def _sent_definitions(schema: Schema) -> dict[str, Definition]:
    """Return the message definitions from which code is generated. The type wstring is replaced with a type that has
    the same encoding as wstring."""
    return replace_wide_texts(ordered_definitions(schema))


def encode_values(definitions: dict[str, Definition], name: str, values: dict[str, object]) -> bytes:
    """Return a message with the given values, encoded as in ROS 2."""
    definitions = replace_wide_texts(definitions)
    message = make_message(definitions, name, values)
    return bytes(type_store(tuple(definitions.values())).serialize_cdr(message, name, little_endian=True))


def check_encoded(schema: Schema, folder: Path, _log: Path) -> None:
    """Raise BuildError if the generated code and rosbags encode the object to different bytes."""
    wanted, found = ((folder / name).read_bytes() for name in (OBJECT, ENCODED))
    if wanted != found:
        at = next((at for at, (one, two) in enumerate(zip(wanted, found, strict=False)) if one != two), len(wanted))
        what = f"the generated code of {schema.type} encodes other bytes than rosbags, from byte {at} on"
        raise BuildError("E-SCHEMA", what, "measure another language, and report this")


def build_cpp(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Build the C++ codec library with Fast CDR."""
    generated = folder / GENERATED
    generated.mkdir()
    (generated / HEADER).write_text(cpp_code(_sent_definitions(schema), schema.type))
    command = [*library_command("cdr", Path(HEADER)), "-o", folder / LIBRARY, "-lfastcdr"]
    compile_library(command, schema, log, generated, generator="hopmeter")
    return {}


def build_rust(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Build the Rust codec library with serde and cdr-encoding."""
    source = folder / "crate/src"
    source.mkdir(parents=True)
    (source / "generated.rs").write_text(rust_code(_sent_definitions(schema), schema.type))
    build_crate("cdr", RUST, CRATES, schema, folder, log, generator="hopmeter")
    return {}


def describe_python(*_: object) -> dict[str, object]:
    """Return an empty dict, because Python needs no generated code: it creates the message classes from the
    definitions."""
    return {}
