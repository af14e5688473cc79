"""`python -m hopmeter.node`: one Python node, started by the launcher. It imports only the modules that it needs,
because every trial waits for the start of its nodes."""

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
    # All link ends are closed now; shutting down the interpreter would only disturb library threads that still run.
    os._exit(code)
