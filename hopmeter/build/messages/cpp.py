"""Provides the command that compiles a C++ codec library."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from hopmeter.system import paths

FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-w")
"""The compiler flags of C++ nodes, except for warnings and the language standard.

The language standard is older than C++20, because older schema compilers do not rename fields that are C++20 keywords.
"""


def compiler() -> list[str]:
    """Return the C++ compiler command, from `CXX` if it is set."""
    return shlex.split(os.environ.get("CXX", "")) or ["c++"]


def library_command(codec: str, header: Path) -> list[str | Path]:
    """Return the command that compiles a codec library with the header that was generated from the probe schema."""
    root = paths.cpp_folder()
    source = root / "codecs" / f"{codec}.cpp"
    return [*compiler(), *FLAGS, "-I.", f"-I{root / 'include'}", f'-DHOPMETER_GENERATED="{header}"', source]
