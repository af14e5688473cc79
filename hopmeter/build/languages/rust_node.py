"""Builds a Rust node with the library that the transport's manifest names: a crate, a library that the user installed,
or one of the manifest's installations."""

from __future__ import annotations

from pathlib import Path

from hopmeter.build.languages import required_project, rust
from hopmeter.build.targets import Target
from hopmeter.manifest.interpreter import interpreter
from hopmeter.system import paths


def build(target: Target, checkout: Path, workshop: Path, log: Path) -> None:
    """Build the CMake project that the node needs, and then the node.

    If the library comes from an installation, its CMake project is installed into the installation's environment.
    """
    manifest, offer, nodes = target.manifest, target.offer, paths.node_build_dir()
    if offer.environment != "own":
        required_project.install(manifest, offer, None, workshop, log)
        rust.build(target.transport, checkout, nodes, log, required_project.build_variables(manifest, offer))
        return
    required_project.install(manifest, manifest.offers["python"], interpreter(offer), workshop, log)
    apart = workshop / target.file_name
    rust.build(target.transport, checkout, apart, log, required_project.build_variables(manifest, offer))
    rust.replace(apart / paths.node_name(target.transport, "rust"), nodes / paths.node_name(offer.node, "rust"))
