"""The command that compiles a codec library in C++."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from hopmeter.system import paths

FLAGS = ("-O3", "-std=c++20", "-fPIC", "-shared", "-w")
"""As C++ nodes are compiled, apart from warnings about generated code."""


def compiler() -> list[str]:
    """Return the C++ compiler: `CXX` if it is set."""
    return shlex.split(os.environ.get("CXX", "")) or ["c++"]


def library_command(codec: str, header: Path, names: Mapping[str, str]) -> list[str | Path]:
    """Return the command that compiles the library of a codec around a generated header, without generated sources."""
    root = paths.cpp_folder()
    defined = [f"-DHOPMETER_{key}={name}" for key, name in names.items()]
    source = root / "codecs" / f"{codec}.cpp"
    return [*compiler(), *FLAGS, "-I.", f"-I{root / 'include'}", f'-DHOPMETER_GENERATED="{header}"', *defined, source]


def cpp_name(name: str) -> str:
    """Return the C++ name of a type."""
    return "::" + name.replace(".", "::")
