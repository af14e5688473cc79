"""Runs pytest or hopmeter with the nodes of aarch64 that `make aarch64` has put into build/aarch64/nodes.

`python setup/emulated.py pytest ARGUMENT…` or `… hopmeter ARGUMENT…`. Results measured with these nodes describe the
emulator.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from hopmeter.system import paths

NODES = Path(__file__).resolve().parents[1] / "build/aarch64/nodes"


def main() -> None:
    """Replace this process with the program."""
    paths.node_build_dir = lambda: NODES
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
