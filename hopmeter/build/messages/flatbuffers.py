"""Build codec libraries of FlatBuffers."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from hopmeter.build.command import BuildError
from hopmeter.build.messages.compilers import compile_library, compile_schema
from hopmeter.build.messages.cpp import cpp_name, library_command
from hopmeter.build.messages.flat_values import FlatValues
from hopmeter.build.messages.rust import build_crate, module_name
from hopmeter.schemas import Schema
from hopmeter.schemas.library import GENERATED, LIBRARY, OBJECT
from hopmeter.system.input_files import read_text
from hopmeter.system.toml_files import one_of

FIRST_YEAR = 22
"""The first major version of flatc that is a year; versions of the crate have the same number since then."""
OLD_CRATE = "2.1.2"
LEAST_ALIGNMENT = 8
"""The size of the largest scalar."""
FORCED = re.compile(r"\bforce_align\s*:\s*(\d+)")
COMMENT = re.compile(r"//.*")
DECLARED = re.compile(r"\b(namespace|table)\s+([\w.]+)")


def write_object(schema: Schema, folder: Path, log: Path) -> None:
    """Write the encoded object into a folder, and the values from which it is made."""
    _check_type(schema)
    values, root = folder / "values.json", folder / "root.fbs"
    # For this format flatc ignores --root-type.
    root.write_text(f'include "{schema.file.relative_to(schema.root)}";\nroot_type {schema.type};\n')
    _run(schema, folder, log, "--jsonschema", root)
    if isinstance(schema.values, Path):
        values.write_bytes(schema.values.read_bytes())
    else:
        described = json.loads((folder / "root.schema.json").read_text())
        values.write_text(json.dumps(FlatValues(described, schema.values).of(schema.type.replace(".", "_"))))
    encoded = folder / "encoded"
    _run(schema, encoded, log, "--binary", "--root-type", schema.type, schema.file, values)
    (found,) = encoded.iterdir()  # the schema may choose another suffix than .bin
    found.rename(folder / OBJECT)
    encoded.rmdir()


def build_cpp(schema: Schema, folder: Path, log: Path) -> dict[str, str]:
    """Build the library in C++."""
    generated = folder / GENERATED
    _run(schema, generated, log, "--cpp", "--gen-object-api", "--gen-all", schema.file)
    name = cpp_name(schema.type)
    header = Path(f"{schema.file.stem}_generated.h")
    command = library_command(
        "flatbuffers", header, {"MESSAGE": name, "OBJECT": f"{name}T", "ALIGNMENT": str(_alignment(schema))}
    )
    compile_library([*command, "-o", folder / LIBRARY], schema, log, generated)
    return {}


def _alignment(schema: Schema) -> int:
    """Return the alignment that a payload needs in C++."""
    texts = (COMMENT.sub("", read_text(file)) for file in schema.files)
    return max([LEAST_ALIGNMENT, *(int(found) for text in texts for found in FORCED.findall(text))])


def build_rust(schema: Schema, folder: Path, log: Path) -> dict[str, str]:
    """Build the library in Rust, with the crate that belongs to this version of flatc."""
    crate = folder / "crate/src"
    crate.mkdir(parents=True)
    _run(schema, crate, log, "--rust", "--gen-object-api", "--gen-all", schema.file)
    (crate / f"{schema.file.stem}_generated.rs").rename(crate / "generated.rs")
    name = _rust_name(schema.type)
    library = (
        f"#[allow(warnings)]\nmod generated;\ntype Message<'a> = generated::{name}<'a>;\n"
        f"type MessageT = generated::{name}T;"
    )
    build_crate("flatbuffers", library, {"flatbuffers": f'"={_crate_version()}"'}, schema, folder, log)
    return {}


def _rust_name(name: str) -> str:
    """Return the Rust name of a table: a module for each part of its namespace."""
    *modules, table = name.split(".")
    return "::".join([*map(module_name, modules), table])


def _crate_version() -> str:
    """Return the version of the crate that fits the code which this flatc generates: the versions are the same since
    22.9.29; the crate of the releases 2.0 is 2.1.2."""
    said = subprocess.run(["flatc", "--version"], capture_output=True, text=True, check=False).stdout
    version = said.split()[-1] if said.split() else ""
    return version if int(version.partition(".")[0] or 0) >= FIRST_YEAR else OLD_CRATE


def _run(schema: Schema, folder: Path, log: Path, *words: str | Path) -> None:
    folder.mkdir(exist_ok=True)
    compile_schema(["flatc", "-I", schema.root, "-o", folder, *words], schema, log)


def _check_type(schema: Schema) -> None:
    """Raise BuildError if the schema has no such table: flatc would only say that the type is unknown."""
    known = list(_tables(schema))
    if schema.type not in known:
        raise BuildError(
            "E-SCHEMA-TYPE", f"{schema.file.name}: table {one_of(schema.type, known)}", "name one of its tables"
        )


def _tables(schema: Schema) -> Iterator[str]:
    for file in schema.files:
        namespace = ""
        for kind, name in DECLARED.findall(COMMENT.sub("", read_text(file))):
            if kind == "namespace":
                namespace = f"{name}."
            else:
                yield namespace + name
