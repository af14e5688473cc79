"""Build codec libraries of ROS 2's messages: generated structs, which kept libraries encode as CDR."""

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
from hopmeter.node.cdr_messages import make_message, type_store
from hopmeter.schemas import Schema
from hopmeter.schemas.library import DEFINITIONS, GENERATED, LIBRARY, OBJECT
from hopmeter.schemas.ros2.definition import Definition
from hopmeter.schemas.ros2.files import order, read_definitions

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
    """Write the definitions into a folder, the encoded object, and the values from which it is made."""
    definitions = ordered_definitions(schema)
    (folder / DEFINITIONS).write_text(json.dumps([each.as_json() for each in definitions.values()]))
    if isinstance(schema.values, Path):
        values = read_values(definitions, schema.type, schema.values)
    else:
        values = choose_values(definitions, schema.type, schema.values)
    (folder / OBJECT).write_bytes(_encode(definitions, schema.type, values))


def ordered_definitions(schema: Schema) -> dict[str, Definition]:
    """Return the definitions of a message and of all messages in it. Each follows the ones that it contains."""
    return {each.name: each for each in order(read_definitions(schema.imports.files), schema.type)}


def _encode(definitions: dict[str, Definition], name: str, values: dict[str, object]) -> bytes:
    message = make_message(definitions, name, values)
    return bytes(type_store(tuple(definitions.values())).serialize_cdr(message, name, little_endian=True))


def check_encoded(schema: Schema, folder: Path, _log: Path) -> None:
    """Raise BuildError if the generated code encodes other bytes than those of the object."""
    wanted, found = ((folder / name).read_bytes() for name in (OBJECT, ENCODED))
    if wanted != found:
        at = next((at for at, (one, two) in enumerate(zip(wanted, found, strict=False)) if one != two), len(wanted))
        what = f"the generated code of {schema.type} encodes other bytes than rosbags, from byte {at} on"
        raise BuildError("E-SCHEMA", what, "measure another language, and report this")


def build_cpp(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Build the library in C++, with Fast CDR."""
    generated = folder / GENERATED
    generated.mkdir()
    (generated / HEADER).write_text(cpp_code(ordered_definitions(schema), schema.type))
    command = [*library_command("cdr", Path(HEADER)), "-o", folder / LIBRARY, "-lfastcdr"]
    compile_library(command, schema, log, generated, generator="hopmeter")
    return {}


def build_rust(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Build the library in Rust, with serde and cdr-encoding."""
    source = folder / "crate/src"
    source.mkdir(parents=True)
    (source / "generated.rs").write_text(rust_code(ordered_definitions(schema), schema.type))
    build_crate("cdr", RUST, CRATES, schema, folder, log, generator="hopmeter")
    return {}


def describe_python(*_: object) -> dict[str, object]:
    """Return nothing: Python makes its classes from the definitions."""
    return {}
