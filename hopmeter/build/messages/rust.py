"""Builds a Rust codec library as a crate around the generated code."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from hopmeter.build.languages.rust import cargo, replace
from hopmeter.build.messages.compilers import compile_library
from hopmeter.schemas import Schema
from hopmeter.schemas.compilers import Word
from hopmeter.schemas.library import LIBRARY
from hopmeter.system import paths


def build_crate(
    codec: str,
    library: str,
    dependencies: Mapping[str, str],
    schema: Schema,
    folder: Path,
    log: Path,
    generator: str = "",
) -> None:
    """Write and build a codec's crate, and put the library into `folder`. `library` is the source that includes the
    generated code.

    `generator` names the program that generated the code, by default the schema compiler.
    """
    crate = folder / "crate"
    # The crate's name contains the process id, because another process may use the same Cargo directory concurrently.
    name = f"hopmeter-codec-{schema.content_id}-{os.getpid()}"
    source = crate / "src"
    source.mkdir(parents=True, exist_ok=True)
    (crate / "Cargo.toml").write_text(_manifest(name, dependencies, has_script=(crate / "build.rs").exists()))
    (source / "lib.rs").write_text(f"{library}\nmod coding;\nmod table;\n")
    templates = paths.codec_sources()
    shutil.copy2(templates / f"{codec}.rs", source / "coding.rs")
    shutil.copy2(templates / "table.rs", source / "table.rs")
    _share_versions(crate)
    target = paths.codec_folder() / "target" / codec
    command: list[Word] = [cargo(), "build", "--release", "--quiet", "--target-dir", target]
    compile_library(command, schema, log, crate, generator=generator)
    product = target / f"release/lib{name.replace('-', '_')}.so"
    replace(product, folder / LIBRARY)
    product.unlink(missing_ok=True)


def _manifest(name: str, dependencies: Mapping[str, str], has_script: bool) -> str:
    lines = [
        *("[package]", f'name = "{name}"', 'version = "0.0.0"', 'edition = "2021"'),
        *("[lib]", 'crate-type = ["cdylib"]'),
        *("[profile.release]", "opt-level = 3", "[workspace]", "[dependencies]"),
        *(f"{name} = {version}" for name, version in dependencies.items()),
        *(
            ("[build-dependencies]", 'prost-build = { version = "0.14", default-features = false }')
            if has_script
            else ()
        ),
        *(('prost-types = "0.14"',) if has_script else ()),
    ]
    return "\n".join(lines) + "\n"


def _share_versions(crate: Path) -> None:
    """Copy the checkout's lock file into the crate, so that the crate uses the same versions of its dependencies. Cargo
    removes the lock-file entries that the crate does not need."""
    tree = paths.checkout()
    if tree is not None:
        shutil.copy2(tree / "Cargo.lock", crate / "Cargo.lock")
