"""Runs one Python node for the launcher (`python -m hopmeter.node`).

This module imports as little as possible, because every trial waits for its nodes to start.
"""

from __future__ import annotations

import os
import signal
import sys

from hopmeter.node.node_main import run

if __name__ == "__main__":
    # Ctrl-C interrupts every process of the terminal, but only the launcher may end a trial.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = run(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # At this point, all link ends are closed. A regular interpreter shutdown would interfere with threads of the
    # library that still run.
    os._exit(code)
