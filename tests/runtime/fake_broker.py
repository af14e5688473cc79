"""A broker with a configurable failure: `fake_broker.py PORT MODE`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time


def main(port: int, mode: str) -> int:
    if mode == "crash":
        print("cannot serve: no cable")
        return 3
    print(f"told {os.environ.get('FAKE_MASTER')}", flush=True)
    with socket.socket() as listener:
        if mode != "deaf":
            listener.bind(("127.0.0.1", port))
            listener.listen()
        if mode == "parent":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "left-by-fake-broker"])
        if mode == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("at your service", flush=True)
        if mode in ("brief", "freezes"):
            listener.accept()
        if mode == "freezes":
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.01 if mode == "brief" else 600)
    return 4


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
