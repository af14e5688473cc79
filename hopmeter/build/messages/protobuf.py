"""Builds codec libraries for Protocol Buffers schemas."""

from __future__ import annotations

from pathlib import Path

from hopmeter.build.command import BuildError
from hopmeter.build.messages.check import ENCODED
from hopmeter.build.messages.compilers import compile_library, run_compiler
from hopmeter.build.messages.cpp import library_command
from hopmeter.build.messages.descriptors import Types, read_types
from hopmeter.build.messages.probe import NAME, write_probe
from hopmeter.build.messages.proto_cpp import build_files, link_words
from hopmeter.build.messages.proto_values import proto_values
from hopmeter.build.messages.rust import build_crate
from hopmeter.schemas import Schema
from hopmeter.schemas.compilers import Word, first_error, remedy
from hopmeter.schemas.descriptors import PROTOC, compile_set, search_words
from hopmeter.schemas.imports import WELL_KNOWN
from hopmeter.schemas.library import DESCRIPTORS, GENERATED, LIBRARY, OBJECT

SCRIPT = """struct Names;

impl prost_build::ServiceGenerator for Names {
    fn generate(&mut self, service: prost_build::Service, code: &mut String) {
        if service.package == "hopmeter_probe" {
            code.push_str(&format!("pub type Message = {};\\n", service.methods[0].input_type));
        }
    }
}

fn main() -> std::io::Result<()> {
    prost_build::Config::new()
        .file_descriptor_set_path("../probe.desc")
        .skip_protoc_run()
        .service_generator(Box::new(Names))
        .include_file("generated.rs")OPTIONS
        .compile_protos(&["hopmeter_probe.proto"], &["."])
}
"""
INCLUDE = """#[allow(warnings)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated.rs"));
}
type Message = generated::hopmeter_probe::Message;"""
OWN_WELL_KNOWN = "\n        .compile_well_known_types()"


def write_object(schema: Schema, folder: Path, log: Path) -> None:
    """Write the schema's descriptors, the encoded object, and the values from which it was encoded, to a directory."""
    described, _, said = compile_set(schema.file, schema.imports.search)
    if not described:
        what = f"protoc does not accept the schema of {schema.type}: {first_error(said.decode(errors='replace'))}"
        raise BuildError("E-SCHEMA", what, remedy(PROTOC), said.decode(errors="replace"))
    (folder / DESCRIPTORS).write_bytes(described)
    types = _types(schema, folder)
    if isinstance(schema.values, Path):
        values = schema.values.read_bytes()
    else:
        values = proto_values(types, schema.type, schema.values).encode()
    (folder / "values.txtpb").write_bytes(values)
    encode = [PROTOC, *search_words(schema.imports.search), f"--encode={schema.type}", schema.file]
    (folder / OBJECT).write_bytes(run_compiler(encode, schema, log, values, "the values"))


def _types(schema: Schema, folder: Path) -> Types:
    return read_types(schema, (folder / DESCRIPTORS).read_bytes())


def _write_probe(schema: Schema, types: Types, folder: Path) -> tuple[Path, list[Word]]:
    """Write a probe schema with one field of the message's type. Return the path of the probe schema, and the protoc
    command without output options."""
    probe = write_probe(folder, ".proto", types.homes[f".{schema.type}"], schema.type)
    return probe, [PROTOC, *search_words([*schema.imports.search, folder])]


def build_cpp(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Build the C++ codec library, and the libraries of the schema's files."""
    generated = folder / GENERATED
    generated.mkdir()
    types = _types(schema, folder)
    files = build_files(schema, types.files, generated, log)
    probe, words = _write_probe(schema, types, generated)
    run_compiler([*words, f"--cpp_out={generated}", probe], schema, log)
    command = library_command("protobuf", Path(f"{NAME}.pb.h"))
    home = [files[name] for name in (types.homes[f".{schema.type}"],) if name in files]
    compile_library([*command, *link_words(files.values(), home), "-o", folder / LIBRARY], schema, log, generated)
    return {"exclusive": exclusive_names(types, {name: each.identity for name, each in files.items()})}


def check_encoded(schema: Schema, folder: Path, log: Path) -> None:
    """Raise BuildError if the generated code does not encode all values of the object. For example, prost loses
    extensions.

    prost also loses the sign of a zero in a map, but this loss is ignored.
    """
    decode = [PROTOC, *search_words(schema.imports.search), f"--decode={schema.type}", schema.file]
    encoded = [(folder / name).read_bytes() for name in (OBJECT, ENCODED)]
    texts = [run_compiler(decode, schema, log, each).decode().replace(": -0\n", ": 0\n") for each in encoded]
    wanted, found = (text.splitlines() for text in texts)
    if wanted != found:
        lost = next((line.strip() for line in wanted if line not in found), "their order")
        what = f"the generated code of {schema.type} does not send all values; it loses: {lost}"
        raise BuildError("E-SCHEMA", what, "omit these values, or measure another language")


def exclusive_names(types: Types, files: dict[str, str]) -> dict[str, str]:
    """Return the names that a program can define only once: the names of files and of the types in these files.

    Each value of the dict identifies the file that defines the name.
    """
    found = {name: f"{name} {identity}" for name, identity in files.items()}
    for file in (each for each in types.files if each["name"][0] in files):
        package = file.get("package", [""])[0]
        named = [tree for kind in ("message_type", "enum_type", "service", "extension") for tree in file.get(kind, ())]
        prefix = f"{package}." if package else ""
        found |= {f"{prefix}{tree['name'][0]}": found[file["name"][0]] for tree in named}
    return found


def build_rust(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Build the Rust codec library with prost."""
    crate = folder / "crate"
    crate.mkdir()
    types = _types(schema, folder)
    probe, words = _write_probe(schema, types, crate)
    run_compiler([*words, "--include_imports", f"--descriptor_set_out={folder / 'probe.desc'}", probe], schema, log)
    own = any(_is_beside_well_known(file["name"][0], file.get("package", [""])[0]) for file in types.files)
    own |= f"{schema.type}.".startswith("google.protobuf.")
    (crate / "build.rs").write_text(SCRIPT.replace("OPTIONS", OWN_WELL_KNOWN if own else ""))
    crates = {"prost": '"0.14"', "prost-types": '"0.14"'}
    build_crate("protobuf", INCLUDE, crates, schema, folder, log, generator="prost")
    return {}


def _is_beside_well_known(name: str, package: str) -> bool:
    """Return whether a file adds types to the package of the well-known types.

    prost provides the well-known types in a separate crate.
    """
    return f"{package}.".startswith("google.protobuf.") and not name.startswith(WELL_KNOWN)


def describe_python(*_: object) -> dict[str, object]:
    """Return an empty dict, because Python creates its classes from the descriptors, as do the modules that protoc
    generates."""
    return {}
