"""`python hopmeter/node/start.py [--borrow FOLDER]`: runs a node on a Python without hopmeter. The node can import the
package hopmeter, but no other package that is installed next to it, unless it borrows the folder of these packages."""

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


def borrow(folder: str) -> None:
    """Put a folder of packages before those of this Python on the search path, and after its standard library."""
    own = [index for index, entry in enumerate(sys.path) if Path(entry).name in ("site-packages", "dist-packages")]
    sys.path.insert(own[0] if own else len(sys.path), folder)


if __name__ == "__main__":
    # The files of this folder must not replace modules of libraries. Python 3.10 has no option -P for that.
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    lend(Path(__file__).resolve().parents[1])
    if sys.argv[1:2] == ["--borrow"]:
        borrow(sys.argv[2])
        del sys.argv[1:3]
    runpy.run_module("hopmeter.node", run_name="__main__")
