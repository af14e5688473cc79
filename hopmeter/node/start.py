"""`python hopmeter/node/start.py`: runs a node on a Python without hopmeter. The node can import the package hopmeter,
but no other package that is installed next to it."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path


def lend(package: Path) -> None:
    """Make `hopmeter` importable from its folder, without adding to the search path, which would include its
    neighbours."""
    search = [str(package)]
    spec = importlib.util.spec_from_file_location(
        "hopmeter", package / "__init__.py", submodule_search_locations=search
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{package} is not the package hopmeter")
    module = sys.modules["hopmeter"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "__main__":
    lend(Path(__file__).resolve().parents[1])
    runpy.run_module("hopmeter.node", run_name="__main__")
