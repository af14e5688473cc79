"""`python -m hopmeter.node.background CORES CPU_SHARE COPY_BYTES_PER_S` produces a trial's background load.

The launcher writes commands to the stdin of this process, one word per line; the process writes JSON lines to stdout.
The process writes `{}` to stdout as soon as the load is running. The command `begin` starts the measurement of the
load; the process does not answer it. The command `read` requests the mean load since the last command `begin`. The
process exits at the end of stdin.
"""

from __future__ import annotations

import json
import signal
import sys

from hopmeter._instrument import BackgroundLoad


def main(arguments: list[str]) -> None:
    """Produce the background load until the end of stdin."""
    cores = [int(core) for core in arguments[0].split(",")]
    load = BackgroundLoad(cores, float(arguments[1]), float(arguments[2]))
    begun = load.reading()
    _say({})
    for line in sys.stdin:
        if line == "begin\n":
            begun = load.reading()
        elif line == "read\n":
            _say(_result(begun, load.reading(), len(cores)))


def _result(begun: tuple[int, int, int], now: tuple[int, int, int], cores: int) -> dict[str, float]:
    """Return how busy the cores were on average, in percent, and how fast memory was copied, in gigabytes per
    second."""
    interval_ns, cpu_ns, copied_bytes = (after - before for before, after in zip(begun, now, strict=True))
    return {"cpu_percent": 100 * cpu_ns / interval_ns / cores, "memory_gb_s": copied_bytes / interval_ns}


def _say(message: dict[str, float]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    # Ctrl-C interrupts every process of the terminal, but only the launcher may end a trial.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(sys.argv[1:])
