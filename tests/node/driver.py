"""Control one real Python node in the same way as the launcher."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.manifest.readiness import SPEC_FORMAT

MESSAGES = 50
TIMEOUT_S = 20

QUEUES = '''
import queue
lines = {}

class Transport:
    """Hands frames over within the process, through one queue for each link."""
    def __init__(self, setup): self.setup = setup
    @staticmethod
    def version(): return "queue 1"
    def publisher(self, link): return Publisher(lines.setdefault(link.name, queue.SimpleQueue()))
    def subscriber(self, link): return Subscriber(lines.setdefault(link.name, queue.SimpleQueue()))
    def close(self): pass

class Publisher:
    address = ""
    def __init__(self, line): self.line = line
    def send(self, payload_bytes, fill):
        frame = bytearray(64 + payload_bytes)
        fill(frame)
        self.line.put(frame)
        return True
    def close(self): pass

class Subscriber:
    def __init__(self, line): self.line = line
    def poll(self, timeout_s, take):
        try:
            frame = self.line.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        take(frame)
        return 1
    def close(self): pass
'''


@dataclass
class Outcome:
    said: list[dict[str, Any]]
    code: int
    log: str

    @property
    def last(self) -> dict[str, Any]:
        return self.said[-1]


class Node:
    """A Python node and the launcher's side of its control channel."""

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        self.said: list[dict[str, Any]] = []
        self.channel, theirs = socket.socketpair()
        self.channel.settimeout(TIMEOUT_S)
        path = folder / "spec.json"
        path.write_text(json.dumps(spec))
        self._log = folder / "log"
        command = [sys.executable, "-m", "hopmeter.node", "--spec", str(path), "--control-fd", str(theirs.fileno())]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=log, stderr=log)
        theirs.close()
        self._lines = self.channel.makefile("r")

    def order(self, say: str, **more: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.channel.sendall(json.dumps({"say": say, **more}).encode() + b"\n")

    def hear(self, *words: str) -> dict[str, Any] | None:
        """Read the node's replies until one of the given words, `failed`, or the end of the channel."""
        for line in self._lines:
            self.said.append(json.loads(line))
            if self.said[-1]["say"] in (*words, "failed"):
                return self.said[-1] if self.said[-1]["say"] != "failed" else None
        return None

    def measure(self) -> None:
        """Drive the node from `bound` to `done`, or until the node fails."""
        bound = self.hear("bound")
        if bound is None:
            return
        self.order("connect", links=bound["links"])
        if self.hear("ready") and self._prove():
            self.order("go", start_ns=time.monotonic_ns() + 20_000_000)
            self.hear("done")

    def _prove(self) -> bool:
        self.order("probe")
        if self.hear("probed") is None:
            return False
        self.order("proved", pair=0)
        return self.hear("quiet") is not None

    def end(self) -> Outcome:
        """Let the node close, and return its outcome."""
        self.order("end")
        code = self.process.wait(TIMEOUT_S)
        self.channel.close()
        return Outcome(self.said, code, self._log.read_text())

    def kill(self) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._lines.close()
        self.channel.close()


def chain(folder: Path, adapter: Path, relays: int, work: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the spec of a source, relays that do `work`, and a sink in one node; `changes` override its keys."""
    flow: dict[str, Any] = {
        "number": 0, "pattern": "pubsub", "payload": {"kind": "bytes"}, "payload_bytes": 100, "touch": "write",
        "pace": {"kind": "open", "rate_hz": 1000.0, "burst": 1, "spin_ns": 0, "seed": 1},
        "messages": MESSAGES, "warmup": 5, "checksum": True, "rpc": "native", "reply": "echo",
    }  # fmt: skip
    of_flow = {*flow, "codec", "device", "share", "object", "payload_file", "payload_frames"}
    flow |= {name: changes.pop(name) for name in of_flow & set(changes)}
    wait = changes.get("wait", "block")
    spec: dict[str, Any] = {
        "format": SPEC_FORMAT, "run": "00000000deadbeef", "cell": "c", "trial": 0, "node": 0, "transport": "example",
        "settings": {}, "directory": str(folder), "adapter": str(adapter), "wait": wait,
        "limit_ns": 5 * 10**9, "drain_ns": 5 * 10**8, "retry_ns": 10**9, "fifo": 0, "mlock": False, "flows": [flow],
        "endpoints": [place(folder, at, relays + 1, work) for at in range(relays + 2)],
        "links": {f"l{at}": {"name": f"hm_test_l{at}", "receivers": 1, "wait": wait} for at in range(relays + 1)},
    }  # fmt: skip
    return {**spec, **changes}


def place(folder: Path, at: int, last: int, work: dict[str, Any]) -> dict[str, Any]:
    role = "source" if at == 0 else "sink" if at == last else "relay"
    return {
        "id": at, "role": role, "flow": 0, "core": None, "work": work if role == "relay" else {"kind": "none"},
        "in": [f"l{at - 1}"] if at else [], "out": [] if at == last else [f"l{at}"],
        "samples": str(folder / f"samples{at}"), "capacity": 4 * MESSAGES,
    }  # fmt: skip


Measure = Callable[..., Outcome]
Start = Callable[..., Node]
