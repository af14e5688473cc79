"""Tests that build Rust adapters with Cargo, including one whose library may be missing on the machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build.command import BuildError
from hopmeter.build.languages import rust, rust_node
from hopmeter.build.targets import Target
from hopmeter.manifest import interpreter
from hopmeter.manifest.readiness import node_command
from hopmeter.system import paths
from tests.plan.capabilities import transport

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


def test_an_installation_has_a_node_of_its_own_for_the_environment_of_python(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "folder", lambda name: checkout / "environments" / name)
    monkeypatch.setattr(paths, "node_build_dir", lambda: checkout / "nodes")
    monkeypatch.setattr(paths, "node_folders", lambda: [checkout / "nodes"])
    python = checkout / "environments/bus-old/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    where = {"where": {"edition": ["old"]}, "variables": {"BUS_ROOT": "{environment}/lib"}}
    part: dict[str, Any] = {"waits": ["block"], "library": "L"}
    languages = {
        "rust": part | {"installations": {"old": where}, "user": {"variable": "BUS_HOME", "remedy": "install it"}},
        "python": part | {"installations": {"old": where | {"pip": ["bus==1"]}}},
    }
    edition = {"default": "yours", "choices": ["yours", "old"], "help": "H."}
    known = transport("bus", languages=languages, settings={"edition": edition})
    chosen = known.for_settings({"edition": "old"})
    assert chosen.offers["rust"].after == "python" and chosen.offers["rust"].user is None
    rust_node.build(Target(chosen, chosen.offers["rust"]), checkout, checkout / "build", checkout / "log")
    command = node_command(chosen, "rust")
    assert command == [str(checkout / "nodes/hopmeter-node-bus-old-rust")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == str(
        python.parents[1] / "lib"
    )
    assert node_command(known, "rust") is None
