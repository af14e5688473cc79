"""Loads Python code that ROS 2's generators created outside the ROS 2 installation."""

from __future__ import annotations

import ctypes
import functools
import importlib
import json
from pathlib import Path
from typing import Any

from hopmeter.node.loading import search_path

FACTS = "codec.json"
"""The file in which `hopmeter build --message` stores the name of a type's generated package."""


def load(folder: Path) -> None:
    """Load the C libraries of generated messages, before Python's message code requests these libraries by name.
    The search path was fixed when the process started, so Python's message code cannot find the libraries unless they
    are already loaded."""
    for library in sorted([*folder.glob("lib*_c.so"), *folder.glob("lib*_py.so")]):
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


@functools.cache
def add_code(folder: Path) -> str:
    """Load the generated code of a type. Return the name of the generated package."""
    load(folder / "lib")
    for packages in {path.parents[2] for path in folder.glob("**/*/msg/__init__.py")}:
        with search_path(packages):
            for path in packages.glob("*/*/__init__.py"):
                if path.parent.name in ("msg", "srv"):
                    importlib.import_module(f"{path.parents[1].name}.{path.parent.name}")
    return str(json.loads((folder / FACTS).read_text())["framed"])


def class_of(name: str) -> Any:
    """Return the class of a type such as `nav_msgs/msg/Odometry`. Raises ImportError or AttributeError."""
    package, kind, word = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), word)
