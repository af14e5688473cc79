"""Both sides of clock exchanges on test hosts: `respond ADDRESS TOKEN` or `ask ADDRESS PORT TOKEN BATCHES PAUSE_S`."""

from __future__ import annotations

import sys
import time

from hopmeter._instrument import ClockResponder
from hopmeter.clocks.batches import measure_batch


def respond(address: str, token: str) -> None:
    """Print the port, then answer until the input ends."""
    responder = ClockResponder(address, bytes.fromhex(token))
    print(responder.port, flush=True)
    sys.stdin.read()
    responder.stop()


def ask(address: str, port: str, token: str, batches: str, pause_s: str) -> None:
    """Print a line of JSON for each batch."""
    for number in range(int(batches)):
        time.sleep(float(pause_s) if number else 0)
        batch = measure_batch("s", "alpha", "beta", (address, int(port)), bytes.fromhex(token))
        print(batch.model_dump_json(), flush=True)


if __name__ == "__main__":
    {"respond": respond, "ask": ask}[sys.argv[1]](*sys.argv[2:])
