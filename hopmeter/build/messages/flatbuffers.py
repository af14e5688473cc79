"""Builds codec libraries for FlatBuffers schemas."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from hopmeter.build.command import BuildError
from hopmeter.build.messages.compilers import compile_library, run_compiler
from hopmeter.build.messages.cpp import library_command
from hopmeter.build.messages.flat_types import FLATC, flatc_words, read_flat_types
from hopmeter.build.messages.flat_values import FlatValues
from hopmeter.build.messages.probe import NAME, write_probe
from hopmeter.build.messages.rust import build_crate
from hopmeter.schemas import Schema
from hopmeter.schemas.compilers import Word
from hopmeter.schemas.library import GENERATED, LIBRARY, OBJECT

FIRST_YEAR = 22
"""The first major version of flatc that is a year. From this version on, the crate and flatc have equal version
numbers."""
OLD_CRATE = "2.1.2"
MODULE = f"pub mod {NAME} {{"
TABLE = re.compile(r"pub fn message\(&self\) -> Option<(.+)<'a>>")
OBJECT_OF_TABLE = re.compile(r"pub message: Option<Box<(.+)>>")
RUST = """#[allow(warnings)]
mod generated;
type Message<'a> = generated::hopmeter_probe::Message<'a>;
type MessageT = generated::hopmeter_probe::MessageT;"""


def write_object(schema: Schema, folder: Path, log: Path) -> None:
    """Write the encoded object, and the JSON values from which it was encoded, to a directory."""
    types = read_flat_types(schema, folder / "described", log)
    values = folder / "values.json"
    if isinstance(schema.values, Path):
        values.write_bytes(schema.values.read_bytes())
    else:
        values.write_text(json.dumps(FlatValues(types, schema.values).of(schema.type)))
    encoded = folder / "encoded"
    words: list[Word] = ["--binary", "--root-type", schema.type, schema.file, values]
    run_compiler([*flatc_words(schema, encoded), *words], schema, log, about="the schema or the values")
    (found,) = encoded.iterdir()  # the schema may choose a suffix other than .bin
    found.rename(folder / OBJECT)
    encoded.rmdir()


def build_cpp(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Build the C++ codec library."""
    generated = folder / GENERATED
    generated.mkdir()
    probe = write_probe(generated, ".fbs", schema.name, schema.type)
    words: list[Word] = ["--cpp", "--gen-object-api", "--gen-all", probe]
    run_compiler([*flatc_words(schema, generated), *words], schema, log)
    alignment = read_flat_types(schema, folder / "described", log).alignment
    command = [*library_command("flatbuffers", Path(f"{NAME}_generated.h")), f"-DHOPMETER_ALIGNMENT={alignment}"]
    compile_library([*command, "-o", folder / LIBRARY], schema, log, generated)
    return {}


def build_rust(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Build the Rust codec library with the crate version that matches flatc."""
    crate = folder / "crate/src"
    crate.mkdir(parents=True)
    probe = write_probe(folder, ".fbs", schema.name, schema.type)
    run_compiler([*flatc_words(schema, crate), "--rust", "--gen-object-api", "--gen-all", probe], schema, log)
    code = (crate / f"{NAME}_generated.rs").read_text()
    (crate / "generated.rs").write_text(_name_types(code, schema))
    (crate / f"{NAME}_generated.rs").unlink()
    build_crate("flatbuffers", RUST, {"flatbuffers": f'"={_crate_version()}"'}, schema, folder, log)
    return {}


def _name_types(code: str, schema: Schema) -> str:
    """Return the generated code, with two type aliases for the message added to the module of the probe schema."""
    table, obj = TABLE.search(code), OBJECT_OF_TABLE.search(code)
    if table is None or obj is None:
        what = f"the code that flatc generates for {schema.type} has a form that hopmeter does not support"
        raise BuildError("E-SCHEMA", what, "use another version of flatc")
    names = f"pub type Message<'a> = {table[1]}<'a>;\n  pub type MessageT = {obj[1]};"
    return code.replace(MODULE, f"{MODULE}\n  {names}", 1)


def _crate_version() -> str:
    """Return the crate version that matches the installed flatc.

    From version 22.9.29 on, the crate and flatc have the same version number. flatc 2.0 needs crate 2.1.2.
    """
    said = subprocess.run([FLATC, "--version"], capture_output=True, text=True, check=False).stdout
    version = said.split()[-1] if said.split() else ""
    return version if int(version.partition(".")[0] or 0) >= FIRST_YEAR else OLD_CRATE


def generate_python(schema: Schema, folder: Path, log: Path) -> dict[str, object]:
    """Generate a schema's Python modules.

    Return the name of the table's module, and the names of all modules. A program can load only one version of each
    module.
    """
    generated = folder / GENERATED
    generated.mkdir()
    run_compiler([*flatc_words(schema, generated), "--python", "--gen-object-api", *schema.files], schema, log)
    modules = {path.relative_to(generated).with_suffix("").as_posix(): path for path in generated.rglob("*.py")}
    exclusive = {
        _module_name(name): f"{name}.py {_hash(path)}" for name, path in modules.items() if path.stat().st_size
    }
    return {"module": _find_module(modules, schema), "exclusive": exclusive}


def _find_module(modules: Iterable[str], schema: Schema) -> str:
    """Return the table's module. flatc appends an underscore to a module name that is a keyword, but some versions of
    flatc leave some keywords unchanged."""
    alike = [name for name in modules if name.replace("_", "") == schema.type.replace(".", "/").replace("_", "")]
    if not alike:
        raise BuildError("E-SCHEMA", f"flatc generates no Python code for {schema.type}", "choose another language")
    return _module_name(min(alike, key=lambda name: len(name) - len(schema.type)))


def _module_name(name: str) -> str:
    return name.replace("/", ".")


def _hash(path: Path) -> str:
    return blake2b(path.read_bytes(), digest_size=8).hexdigest()
