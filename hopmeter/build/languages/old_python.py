"""Builds the instrument for a system Python that is too old for the limited-API build."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hopmeter.build.command import BuildError, run_logged
from hopmeter.build.languages import rust
from hopmeter.manifest.interpreter import Interpreter
from hopmeter.system import paths

LIMITED = (3, 11)
"""The earliest Python version that can load the common build of the instrument."""
SUFFIX = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"


def provide_instrument(python: Interpreter, log: Path) -> None:
    """Build the instrument for a Python that is too old for the limited-API build. Raises BuildError if the build
    fails."""
    if python.version >= LIMITED:
        return
    tree, version = paths.checkout(), ".".join(map(str, python.version))
    if tree is None:
        raise BuildError(
            "E-NOT-PACKAGED",
            f"this package of hopmeter has no instrument for the system's Python {version}",
            "build it in a checkout of hopmeter, with Rust",
        )
    target = tree / "build" / f"instrument-{version}"
    run_logged(
        [rust.cargo(), "build", "--release", "--package", "hopmeter-python", "--no-default-features"],
        log,
        cwd=tree,
        env={"CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": str(python.program)},
        remedy="correct instrument/python, then run this again",
    )
    rust.replace(target / "release/lib_instrument.so", paths.PACKAGE / f"_instrument{_suffix(python.program)}")


def _suffix(program: Path) -> str:
    done = subprocess.run([str(program), "-I", "-c", SUFFIX], capture_output=True, text=True, check=True)
    return done.stdout.strip()
