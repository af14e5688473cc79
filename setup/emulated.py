"""Run pytest or hopmeter with the aarch64 nodes that `make aarch64` has built in build/aarch64/nodes.

`python setup/emulated.py pytest ARGUMENT…` or `… hopmeter ARGUMENT…`. Results measured with emulated nodes describe the
emulator.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from hopmeter.system import paths

NODES = Path(__file__).resolve().parents[1] / "build/aarch64/nodes"


def main() -> None:
    """Run the program in this process."""
    paths.node_build_dir = lambda: NODES
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
