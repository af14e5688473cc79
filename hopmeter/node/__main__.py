"""`python -m hopmeter.node`: one Python node, which the launcher starts. This module imports only what it needs,
because every trial waits until its nodes have started."""

from __future__ import annotations

import os
import signal
import sys

from hopmeter.node.node_main import run

if __name__ == "__main__":
    # Ctrl-C interrupts every process of the terminal, but only the launcher decides how a trial ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = run(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # All link ends are closed now; a regular interpreter shutdown would only disturb library threads that still run.
    os._exit(code)
