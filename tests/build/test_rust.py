"""Rust adapters are built with Cargo: also one whose node needs a library that not every machine has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hopmeter.build import rust
from hopmeter.build.command import BuildError

WORKSPACE = """
[workspace]
resolver = "2"
members = ["bus"]
"""
CRATE = """
[package]
name = "hopmeter-transport-bus"
version = "0.1.0"
edition = "2021"

[features]
bus = []

[[bin]]
name = "hopmeter-node-bus-rust"
path = "main.rs"
required-features = ["bus"]
"""
MAIN = """fn main() { println!("{}", env!("BUS_ROOT")) }"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    monkeypatch.delenv("BUS_ROOT", raising=False)
    for path, text in (("Cargo.toml", WORKSPACE), ("bus/Cargo.toml", CRATE), ("bus/main.rs", MAIN)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_a_node_that_other_builds_leave_out_is_built_with_its_features_and_variables(checkout: Path) -> None:
    subprocess.run([rust.cargo(), "build", "--release", "--workspace"], cwd=checkout, check=True)
    assert not (checkout / "target/release/hopmeter-node-bus-rust").exists()
    rust.build("bus", checkout, checkout / "nodes", checkout / "log", {"BUS_ROOT": "/opt/bus"})
    ran = subprocess.run([checkout / "nodes/hopmeter-node-bus-rust"], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "/opt/bus"


def test_without_its_variables_it_does_not_compile(checkout: Path) -> None:
    with pytest.raises(BuildError) as failed:
        rust.build("bus", checkout, checkout / "nodes", checkout / "log")
    assert failed.value.code == "E-COMMAND-FAILED" and "BUS_ROOT" in failed.value.detail
