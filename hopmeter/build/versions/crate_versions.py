"""Builds a transport with another version of its Rust crate, in a copy of the checkout."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

from hopmeter.build.command import BuildError
from hopmeter.build.languages import required_project, rust
from hopmeter.build.versions import revisions
from hopmeter.build.versions.revisions import Revision
from hopmeter.manifest import Manifest, Readiness
from hopmeter.manifest.readiness import describe
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.sides import OldSide, node_side, why_unused
from hopmeter.system import paths

LANGUAGE = "rust"


def crate(manifest: Manifest) -> str:
    """Return the name of a Rust adapter's crate, or an empty string if its library is not a crate."""
    file = manifest.folder / "rust/Cargo.toml"
    if LANGUAGE not in manifest.offers or not file.is_file():
        return ""
    known = tomllib.loads(file.read_text(encoding="utf-8")).get("dependencies", {})
    name = manifest.offers[LANGUAGE].library.partition(" ")[0]
    return name if name in known else ""


def has_cells(manifest: Manifest, plan: Plan) -> bool:
    """Return whether the run has cells that use the crate."""
    return bool(crate(manifest)) and any(not why_unused(cell, manifest.name, LANGUAGE) for cell in plan.runnable)


def side(manifest: Manifest, version: str, capabilities: Capabilities, say: Callable[[str], object]) -> OldSide:
    """Build the node with the given crate version, and return the comparison side that uses this node.

    Raises BuildError if the build fails.
    """
    name = manifest.name
    node = _build(manifest, version, say)
    return node_side(f"{name}@{version}", capabilities, node, lambda cell: why_unused(cell, name, LANGUAGE))


def _build(manifest: Manifest, version: str, say: Callable[[str], object]) -> Readiness:
    copy = _copy_of(manifest.name, version)
    node = copy.tree / "build/nodes" / paths.node_name(manifest.name, LANGUAGE)
    if not node.exists():
        say(f"building {manifest.name} with {crate(manifest)} {version}; the first time takes minutes")
        if not copy.tree.exists():
            revisions.copy_files(copy)
        _require(copy.tree / "transports" / manifest.name / "rust/Cargo.toml", crate(manifest), version)
        copy.log.write_text("")
        try:
            variables = required_project.build_variables(manifest, manifest.offers[LANGUAGE])
            rust.build(manifest.name, copy.tree, node.parent, copy.log, variables)
        except BuildError as failed:
            remedy = f"choose a version that the adapter compiles with; read {copy.log}"
            raise BuildError(failed.code, failed.what, remedy, failed.detail) from failed
    return describe(manifest, LANGUAGE, [str(node)])


def _copy_of(name: str, version: str) -> Revision:
    """Return the copy of the working tree for a crate version. The copy includes uncommitted changes of the working
    tree."""
    head = revisions.find("HEAD")
    checkout = head.tree.parents[2]
    commit = _git(checkout, "stash", "create") or head.commit
    files = _git(checkout, "rev-parse", f"{commit}^{{tree}}")
    return Revision(f"{name}@{version}", commit, head.tree.parent / f"{name}-{version}-{files[:12]}")


def _git(checkout: Path, *words: str) -> str:
    asked = ["git", "-C", str(checkout), *words]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def _require(file: Path, name: str, version: str) -> None:
    """Pin an adapter's crate to an exact version in its Cargo.toml. Raises BuildError if Cargo.toml names no
    version."""
    text = file.read_text(encoding="utf-8")
    escaped = re.escape(name)
    inline = rf'^({escaped} = (?:\{{[^}}\n]*?version = )?")[^"]*(")'
    table = rf'(^\[dependencies\.{escaped}\]\n(?:[^\[\n]*\n)*?version = ")[^"]*(")'
    for pattern in (inline, table):
        changed, count = re.subn(pattern, rf"\g<1>={version}\g<2>", text, count=1, flags=re.MULTILINE)
        if count:
            file.write_text(changed, encoding="utf-8")
            return
    raise BuildError("E-AGAINST", f"{file} does not contain a version of {name}", "compare two git revisions instead")
