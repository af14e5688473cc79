"""The command that compiles a codec library in C++."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from hopmeter.system import paths

FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-w")
"""The flags of C++ nodes, with two differences: warnings about generated code are off, and the standard is older,
because older schema compilers do not rename fields that are keywords of C++20."""


def compiler() -> list[str]:
    """Return the command of the C++ compiler: `CXX` if it is set, otherwise `c++`."""
    return shlex.split(os.environ.get("CXX", "")) or ["c++"]


def library_command(codec: str, header: Path) -> list[str | Path]:
    """Return the command that compiles a codec's library with the probe's generated header."""
    root = paths.cpp_folder()
    source = root / "codecs" / f"{codec}.cpp"
    return [*compiler(), *FLAGS, "-I.", f"-I{root / 'include'}", f'-DHOPMETER_GENERATED="{header}"', source]
