"""`python hopmeter/node/start.py [--borrow FOLDER]` runs a node with a Python in which hopmeter is not installed.

The node can import the package `hopmeter`. With `--borrow FOLDER`, the node can also import the packages in FOLDER.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path


def lend(package: Path) -> None:
    """Make `hopmeter` importable without changing the search path.

    If hopmeter's directory were in the search path, the node could also import other packages from that directory.
    """
    search = [str(package)]
    spec = importlib.util.spec_from_file_location(
        "hopmeter", package / "__init__.py", submodule_search_locations=search
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{package} is not the package hopmeter")
    module = sys.modules["hopmeter"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def borrow(folder: str) -> None:
    """Insert a package directory into the search path, between the standard library and the packages of this Python."""
    own = [index for index, entry in enumerate(sys.path) if Path(entry).name in ("site-packages", "dist-packages")]
    sys.path.insert(own[0] if own else len(sys.path), folder)


if __name__ == "__main__":
    # The files next to this script must not shadow library modules. Python 3.10 lacks the option -P, which would keep
    # the script's directory out of the search path.
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    lend(Path(__file__).resolve().parents[1])
    if sys.argv[1:2] == ["--borrow"]:
        borrow(sys.argv[2])
        del sys.argv[1:3]
    runpy.run_module("hopmeter.node", run_name="__main__")
