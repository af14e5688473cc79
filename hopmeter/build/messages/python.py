"""Generate the Python code of messages."""

from __future__ import annotations

from pathlib import Path

from hopmeter.build.messages.compilers import Word, compile_schema
from hopmeter.build.messages.descriptors import read_types
from hopmeter.schemas import Schema
from hopmeter.schemas.library import GENERATED


def generate_protobuf(schema: Schema, folder: Path, log: Path) -> dict[str, str]:
    """Generate the modules of a schema of Protocol Buffers. Return the module of the message, and its name there."""
    generated = folder / GENERATED
    generated.mkdir()
    compile_schema(["protoc", f"-I{schema.root}", f"--python_out={generated}", *schema.files], schema, log)
    file, package = read_types(schema, folder, log).homes[f".{schema.type}"]
    module = file.removesuffix(".proto").replace("-", "_").replace("/", ".") + "_pb2"
    return {"module": module, "name": schema.type.removeprefix(f"{package}.")}


def generate_flatbuffers(schema: Schema, folder: Path, log: Path) -> dict[str, str]:
    """Generate the modules of a schema of FlatBuffers. Return the module of the table, and its name there."""
    generated = folder / GENERATED
    generated.mkdir()
    words: list[Word] = ["flatc", "-I", schema.root, "--python", "--gen-object-api", "-o", generated, *schema.files]
    compile_schema(words, schema, log)
    return {"module": schema.type, "name": schema.type.rpartition(".")[2]}
