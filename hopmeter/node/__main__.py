"""`python -m hopmeter.node`: one Python node, started by the launcher. Nothing here is imported that it does not need,
since the start of every node of every trial waits for it."""

from __future__ import annotations

import os
import signal
import sys

from hopmeter.node.node_main import run

if __name__ == "__main__":
    # Ctrl-C reaches every process of the terminal; the launcher alone decides what becomes of a trial.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = run(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is closed by now; tearing the interpreter down could only meet threads of libraries that still run.
    os._exit(code)
