"""Builds Rust adapters with Cargo in the checkout's workspace, and copies the nodes to the node directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hopmeter.build.command import BuildError, run_logged

NO_CARGO = "install Rust with rustup, then run this again"
_ALONE = threading.Lock()
"""A lock that serializes builds, because two adapters may need the same crate."""


def build(name: str, checkout: Path, nodes: Path, log: Path, variables: Mapping[str, str] | None = None) -> None:
    """Build a transport's Rust adapter, and copy its node and any C library for other languages to `nodes`."""
    with _ALONE:
        _build(name, checkout, nodes, log, variables or {})


def _build(name: str, checkout: Path, nodes: Path, log: Path, variables: Mapping[str, str]) -> None:
    crate, workspace = f"hopmeter-transport-{name}", metadata(checkout)
    run_logged(
        [cargo(), "build", "--release", "--package", crate, *_feature_options(workspace, crate)],
        log,
        cwd=checkout,
        env={**cache_environment(), **variables},
        remedy=f"correct transports/{name}/rust, then run `hopmeter build {name} --language rust`",
    )
    for product in products(workspace, crate):
        replace(Path(workspace["target_directory"]) / "release" / product, nodes / product)


def offers_library(name: str, checkout: Path) -> bool:
    """Return whether a Rust adapter has a library that adapters in other languages use."""
    return any(product.endswith(".so") for product in products(metadata(checkout), f"hopmeter-transport-{name}"))


def _feature_options(workspace: dict[str, Any], crate: str) -> list[str]:
    """Return the Cargo options for the features that the crate's node requires."""
    features = {name for target in _targets(workspace, crate) for name in target.get("required-features", ())}
    return ["--features", ",".join(sorted(features))] if features else []


def _targets(workspace: dict[str, Any], crate: str) -> list[dict[str, Any]]:
    return [target for package in workspace["packages"] if package["name"] == crate for target in package["targets"]]


def products(workspace: dict[str, Any], crate: str) -> list[str]:
    """Return the file names of a crate's nodes and C-ABI shared libraries."""
    targets = _targets(workspace, crate)
    nodes = [target["name"] for target in targets if "bin" in target["kind"]]
    return nodes + [f"lib{target['name']}.so" for target in targets if "cdylib" in target["kind"]]


def build_library(checkout: Path, log: Path) -> Path:
    """Build the instrument's static library for C++ nodes, and return its path."""
    run_logged(
        [cargo(), "build", "--release", "--package", "hopmeter-c"],
        log,
        cwd=checkout,
        env=cache_environment(),
        remedy="correct instrument/, then run `hopmeter build`",
    )
    return Path(metadata(checkout)["target_directory"]) / "release/libhopmeter.a"


def cargo() -> str:
    """Return Cargo's path. Raises BuildError if Cargo is not installed."""
    found = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo/bin"))
    if found is None:
        raise BuildError("E-NO-TOOL", "Rust is not installed (no cargo on the path)", NO_CARGO)
    return found


def cache_environment() -> dict[str, str]:
    """Return the environment variables that make clones share Cargo's target directory if HOPMETER_CACHE is set.

    If the user has set CARGO_TARGET_DIR, that directory takes precedence.
    """
    cache = os.environ.get("HOPMETER_CACHE")
    if not cache or "CARGO_TARGET_DIR" in os.environ:
        return {}
    return {"CARGO_TARGET_DIR": str(Path(cache).absolute() / "cargo")}


@cache
def metadata(checkout: Path) -> dict[str, Any]:
    """Return Cargo's metadata for the workspace, with the actual target directory."""
    asked = [cargo(), "metadata", "--format-version", "1", "--no-deps"]
    environment = {**os.environ, **cache_environment()}
    answer = subprocess.run(asked, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise BuildError(
            "E-COMMAND-FAILED",
            f"cargo cannot read the workspace: {answer.stderr.strip()}",
            "correct the Cargo.toml that Cargo names",
        )
    return dict(json.loads(answer.stdout))


def replace(source: Path, target: Path) -> None:
    """Replace a file atomically, so that a running node keeps its old file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.new")
    try:
        shutil.copy2(source, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
