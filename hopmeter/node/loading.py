"""Finding and loading an adapter by its folder."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hopmeter.node.contract import AdapterError


@functools.cache
def transport_class(folder: Path) -> type[Any]:
    """The class `Transport` of the `adapter.py` in `folder` (`transports/NAME/python`)."""
    module = _load(folder / "adapter.py")
    found = getattr(module, "Transport", None)
    if isinstance(found, type):
        return found
    raise AdapterError(f"{module.__file__} has no class Transport", "write one as hopmeter/node/contract.py describes")


def transport_name(folder: Path) -> str:
    """The transport's name: the folder above `python`."""
    return folder.resolve().parent.name


def _load(path: Path) -> ModuleType:
    name = f"hopmeter_adapter_{transport_name(path.parent).replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise AdapterError(f"there is no adapter {path}", "check the transport's folder, or drop the language")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))  # an adapter may be of several files
    try:
        spec.loader.exec_module(module)
    except ImportError as cause:
        remedy = f"run `hopmeter build {transport_name(path.parent)}`, which installs what the adapter imports"
        raise AdapterError(f"loading {path}: {cause}", remedy) from cause
    return module
