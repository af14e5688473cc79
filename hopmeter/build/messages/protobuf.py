"""Build codec libraries of Protocol Buffers."""

from __future__ import annotations

from pathlib import Path

from hopmeter.build.messages.compilers import Word, compile_library, compile_schema, run_compiler
from hopmeter.build.messages.cpp import cpp_name, library_command
from hopmeter.build.messages.descriptors import read_types
from hopmeter.build.messages.proto_values import proto_values
from hopmeter.build.messages.rust import build_crate, module_name, type_name
from hopmeter.schemas import Schema
from hopmeter.schemas.library import GENERATED, LIBRARY, OBJECT

SCRIPT = """fn main() -> std::io::Result<()> {
    prost_build::Config::new()
        .file_descriptor_set_path("../schema.desc")
        .skip_protoc_run()
        .include_file("generated.rs")
        .compile_protos(&["schema.proto"], &["."])
}
"""
INCLUDE = """#[allow(warnings)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated.rs"));
}"""


def write_object(schema: Schema, folder: Path, log: Path) -> None:
    """Write the encoded object into a folder, and the values from which it is made."""
    types = read_types(schema, folder, log)
    if isinstance(schema.values, Path):
        values = schema.values.read_bytes()
    else:
        values = proto_values(types, schema.type, schema.values).encode()
    (folder / "values.txtpb").write_bytes(values)
    encode: list[Word] = ["protoc", f"-I{schema.root}", f"--encode={schema.type}", schema.file]
    (folder / OBJECT).write_bytes(run_compiler(encode, schema, log, values, "the values"))


def build_cpp(schema: Schema, folder: Path, log: Path) -> dict[str, str]:
    """Build the library in C++."""
    generated = folder / GENERATED
    generated.mkdir()
    compile_schema(["protoc", f"-I{schema.root}", f"--cpp_out={generated}", *schema.files], schema, log)
    header = schema.file.relative_to(schema.root).with_suffix(".pb.h")
    command = library_command("protobuf", header, {"MESSAGE": cpp_name(schema.type)})
    sources = sorted(generated.rglob("*.pb.cc"))
    compile_library([*command, *sources, "-o", folder / LIBRARY, "-lprotobuf"], schema, log, generated)
    return {}


def build_rust(schema: Schema, folder: Path, log: Path) -> dict[str, str]:
    """Build the library in Rust, with prost."""
    crate = folder / "crate"
    crate.mkdir()
    (crate / "build.rs").write_text(SCRIPT)
    library = f"{INCLUDE}\ntype Message = generated::{_rust_name(schema)};"
    build_crate("protobuf", library, {"prost": '"0.14"', "prost-types": '"0.14"'}, schema, folder, log)
    return {}


def _rust_name(schema: Schema) -> str:
    """Return the name that prost gives to the message: a module for each part of the package and each outer message."""
    *modules, name = schema.type.split(".")
    return "::".join([*map(module_name, modules), type_name(name)])
