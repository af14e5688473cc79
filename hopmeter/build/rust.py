"""Rust adapters: built by Cargo in the checkout's workspace, the node copied to where all nodes are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from functools import cache
from pathlib import Path
from typing import Any

from hopmeter.build.command import BuildError, run_logged

NO_CARGO = "install Rust with rustup, then run this again"
_ALONE = threading.Lock()
"""Two may want one crate: its own adapter, and another language's that needs its library."""


def build(name: str, checkout: Path, nodes: Path, log: Path) -> None:
    """Builds one transport and puts its node into `nodes`, with the C library that it may have for other languages."""
    with _ALONE:
        _build(name, checkout, nodes, log)


def _build(name: str, checkout: Path, nodes: Path, log: Path) -> None:
    crate = f"hopmeter-transport-{name}"
    run_logged(
        [cargo(), "build", "--release", "--package", crate],
        log,
        cwd=checkout,
        env=cache_environment(),
        remedy=f"mend transports/{name}/rust, then `hopmeter build {name} --language rust`",
    )
    workspace = metadata(checkout)
    for product in products(workspace, crate):
        replace(Path(workspace["target_directory"]) / "release" / product, nodes / product)


def offers_library(name: str, checkout: Path) -> bool:
    """Whether the adapters of the other languages need what the Rust one is made of."""
    return any(product.endswith(".so") for product in products(metadata(checkout), f"hopmeter-transport-{name}"))


def products(workspace: dict[str, Any], crate: str) -> list[str]:
    """The files that a crate is built for: nodes, and shared libraries with a C ABI."""
    targets = [target for package in workspace["packages"] if package["name"] == crate for target in package["targets"]]
    nodes = [target["name"] for target in targets if "bin" in target["kind"]]
    return nodes + [f"lib{target['name']}.so" for target in targets if "cdylib" in target["kind"]]


def build_library(checkout: Path, log: Path) -> Path:
    """Builds the instrument's static library, which C++ nodes link; answers where it is."""
    run_logged(
        [cargo(), "build", "--release", "--package", "hopmeter-c"],
        log,
        cwd=checkout,
        env=cache_environment(),
        remedy="mend instrument/, then `hopmeter build`",
    )
    return Path(metadata(checkout)["target_directory"]) / "release/libhopmeter.a"


def cargo() -> str:
    """Cargo's path."""
    found = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo/bin"))
    if found is None:
        raise BuildError("there is no Rust here (no cargo on the path)", NO_CARGO)
    return found


def cache_environment() -> dict[str, str]:
    """Where HOPMETER_CACHE is set, clones share what Cargo builds; CARGO_TARGET_DIR has the last word."""
    cache = os.environ.get("HOPMETER_CACHE")
    if not cache or "CARGO_TARGET_DIR" in os.environ:
        return {}
    return {"CARGO_TARGET_DIR": str(Path(cache).absolute() / "cargo")}


@cache
def metadata(checkout: Path) -> dict[str, Any]:
    """The workspace as Cargo sees it, with where it really puts things, whatever configuration says so."""
    asked = [cargo(), "metadata", "--format-version", "1", "--no-deps"]
    environment = {**os.environ, **cache_environment()}
    answer = subprocess.run(asked, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise BuildError(f"cargo cannot read the workspace: {answer.stderr.strip()}", "mend the Cargo.toml it names")
    return dict(json.loads(answer.stdout))


def replace(source: Path, target: Path) -> None:
    """Copies beside and renames: a node that is running keeps its own file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.new")
    try:
        shutil.copy2(source, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
