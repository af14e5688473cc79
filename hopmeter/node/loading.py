"""Loads an adapter from its directory.

The transport directories together form one Python package. An adapter imports its own files with relative names such as
`.ends`, and files that transports share with names such as `..._streams.python.sending`. The adapter's files never
shadow a library or another adapter's files, because loading does not change Python's search path.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from hopmeter.node.contract import AdapterError


@functools.cache
def transport_class(folder: Path) -> type[Any]:
    """Return the class `Transport` from the `adapter.py` in `folder`, which is `transports/NAME/python`.

    Raises AdapterError if the file contains no class `Transport`, or if an import fails.
    """
    path = folder / "adapter.py"
    if not path.is_file():
        raise AdapterError(
            f"the adapter {path} does not exist",
            "check the transport's folder, or remove the language from its transport.toml",
        )
    home = folder.resolve()
    try:
        module = importlib.import_module(f"{_package(home.parents[1])}.{home.parent.name}.{home.name}.adapter")
    except ImportError as cause:
        raise AdapterError(f"loading {path}: {cause}", _import_remedy(folder, cause)) from cause
    found = vars(module).get("Transport")
    if isinstance(found, type):
        return found
    raise AdapterError(f"{path} has no class Transport", "write this class as hopmeter/node/contract.py describes")


def transport_name(folder: Path) -> str:
    """Return the transport's name, which is the name of the directory that contains the directory `python`."""
    return folder.resolve().parent.name


@contextmanager
def search_path(*folders: Path, first: bool = False) -> Iterator[None]:
    """Append directories to Python's search path (or prepend them, if `first` is true) until the `with` block ends."""
    before = list(sys.path)
    added = [str(folder) for folder in folders]
    sys.path[:] = [*added, *before] if first else [*before, *added]
    try:
        yield
    finally:
        sys.path[:] = before


@functools.cache
def _package(root: Path) -> str:
    """Return the name of the Python package that the transport directories in `root` form."""
    name = f"hopmeter_transports_{zlib.crc32(bytes(root)):08x}"
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(root)]
    sys.modules[name] = importlib.util.module_from_spec(spec)
    return name


def _import_remedy(folder: Path, cause: ImportError) -> str:
    if cause.name and (folder / f"{cause.name}.py").is_file():
        return f"{cause.name}.py is a file of the adapter: import it as `.{cause.name}`"
    return f"run `hopmeter build {transport_name(folder)}`, which installs the packages that the adapter imports"
