"""Run an agent with a fixed delay in each direction: `slow_line.py DELAY_S COMMAND …`."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time

PIECE = 1 << 16


def carry(source: int, target: int, delay_s: float) -> None:
    """Forward each piece of data after the delay, and close the target at the end."""
    waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def read() -> None:
        piece = b"first"
        while piece:
            piece = os.read(source, PIECE)
            waiting.put((time.monotonic() + delay_s, piece))

    threading.Thread(target=read, daemon=True).start()
    while True:
        due, piece = waiting.get()
        time.sleep(max(0.0, due - time.monotonic()))
        if not piece:
            os.close(target)
            return
        while piece:
            piece = piece[os.write(target, piece) :]


def main() -> int:
    """Return the exit code of the agent."""
    delay_s, command = float(sys.argv[1]), sys.argv[2:]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None and agent.stdout is not None
        threading.Thread(target=carry, args=(0, os.dup(agent.stdin.fileno()), delay_s), daemon=True).start()
        agent.stdin.close()
        carry(agent.stdout.fileno(), 1, delay_s)
    return agent.returncode


if __name__ == "__main__":
    raise SystemExit(main())
