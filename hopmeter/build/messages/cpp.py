"""The command that compiles a codec library in C++."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from hopmeter.system import paths

FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-w")
"""As C++ nodes are compiled, except for warnings about generated code, and for the standard: older compilers of schemas
do not rename fields that are keywords of C++20."""


def compiler() -> list[str]:
    """Return the C++ compiler: `CXX` if it is set."""
    return shlex.split(os.environ.get("CXX", "")) or ["c++"]


def library_command(codec: str, header: Path) -> list[str | Path]:
    """Return the command that compiles the library of a codec around the generated header of the probe."""
    root = paths.cpp_folder()
    source = root / "codecs" / f"{codec}.cpp"
    return [*compiler(), *FLAGS, "-I.", f"-I{root / 'include'}", f'-DHOPMETER_GENERATED="{header}"', source]
