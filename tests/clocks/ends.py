"""Both ends of clock exchanges on test hosts: `respond ADDRESS TOKEN` or `ask ADDRESS PORT TOKEN BURSTS PAUSE_S`."""

from __future__ import annotations

import sys
import time

from hopmeter._instrument import ClockResponder
from hopmeter.clocks.bursts import measure_burst


def respond(address: str, token: str) -> None:
    """Answer until the input ends; print the port first."""
    responder = ClockResponder(address, bytes.fromhex(token))
    print(responder.port, flush=True)
    sys.stdin.read()
    responder.stop()


def ask(address: str, port: str, token: str, bursts: str, pause_s: str) -> None:
    """Print a line of JSON for each burst."""
    for number in range(int(bursts)):
        time.sleep(float(pause_s) if number else 0)
        burst = measure_burst("s", "alpha", "beta", (address, int(port)), bytes.fromhex(token))
        print(burst.model_dump_json(), flush=True)


if __name__ == "__main__":
    {"respond": respond, "ask": ask}[sys.argv[1]](*sys.argv[2:])
